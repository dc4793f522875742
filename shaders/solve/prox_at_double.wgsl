// What a contact's projection needs, of the k-th contact that is bound. Included behind the bindings of a kernel.

fn prox_at(k: u32) -> Prox {
    return prox[k];
}
