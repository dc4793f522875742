// What the kernels of the solvers share: the records of `src/solve/gpu/layout.rs` and the prox step. Before it stands
// what a `real` is: single.wgsl or double.wgsl.

struct Params {
    // What this dispatch works on.
    first: u32,
    count: u32,
    // Contacts; general rows follow them where both are numbered together.
    contacts: u32,
    // 1: friction rows see the change of their normal row at once.
    coupled: u32,
    // What R is multiplied by.
    scale: f32,
    // T_rel.
    relative: f32,
    // What is bound of a buffer that is cut, its first one and how many: rows of a dense T, or contacts.
    span: vec2u,
    // How often a kernel of one workgroup sweeps, and the bodies that it works on besides. Where all units are single
    // contacts that follow each other: one past the number of the first.
    repeat: u32,
    others: u32,
}

struct Prox {
    mu: real2,
    r: real2,
    coupling: real2,
    omega: real,
    bias: real,
    compliance: real2,
    at: u32,
    block: u32,
}

struct Frame {
    normal: real3,
    first: u32,
    tangent: real3,
    second: u32,
    first_arm: real3,
    normal_bias: real,
    second_arm: real3,
    tangent_bias: real,
}

struct Row {
    bounds: real2,
    bias: real,
    compliance: real,
    r: real,
    omega: real,
    at: u32,
    block: u32,
    entries: vec2u,
    spare: real2,
}

struct Entry {
    linear: real3,
    body: u32,
    angular: real3,
    spare: u32,
}

// Whole vectors, which are read and written at once.
struct Body {
    // Velocity, and the inverse mass.
    linear: real4,
    // Angular velocity, and 1 where impulses move it.
    angular: real4,
    diagonal: real4,
    across: real4,
}

struct BlockRow {
    value: u32,
    column: u32,
    row: u32,
    spare: u32,
}

const ROWS: u32 = 0x80000000u;
const BLOCK: u32 = 0x3fffffffu;

@group(0) @binding(0) var<uniform> params: Params;

// The number of this invocation, in a grid of workgroups of 64.
fn number(id: vec3u, groups: vec3u) -> u32 {
    return id.x + id.y * groups.x * 64u;
}

fn within(x: real, limit: real) -> real {
    return select(0.0, clamp(x, -limit, limit), limit > 0.0);
}

fn project_disc(v: real2, radius: real) -> real2 {
    let square = v.x * v.x + v.y * v.y;
    if square <= radius * radius {
        return v;
    }
    return v * (radius / sqrt(square));
}

// By Newton's method on the multiplier, from below.
fn project_ellipse(v: real2, axes: real2) -> real2 {
    if axes.x <= 0.0 || axes.y <= 0.0 {
        return real2(within(v.x, axes.x), within(v.y, axes.y));
    }
    if axes.x == axes.y {
        return project_disc(v, axes.x);
    }
    let unit = v / axes;
    if unit.x * unit.x + unit.y * unit.y <= 1.0 {
        return v;
    }
    // In units of the longer half axis: squares must not leave the range of numbers.
    let size = max(axes.x, axes.y);
    let a = axes / size;
    let s = a * a;
    let p = a * abs(v / size);
    var t = max(max(p.x - s.x, p.y - s.y), 0.0);
    for (var k = 0u; k < 60u; k++) {
        let q = p / (s + t);
        let squares = q * q;
        let slopes = squares / (s + t);
        let f = squares.x + squares.y - 1.0;
        if f <= 0.0 {
            break;
        }
        let next = t + f / (2.0 * (slopes.x + slopes.y));
        if next <= t {
            break;
        }
        t = next;
    }
    return v * (s / (s + t));
}

fn project_friction(law: u32, v: real2, mu: real2, normal: real) -> real2 {
    switch law {
        case 1u: {
            return real2(within(v.x, mu.x * normal), within(v.y, mu.y * normal));
        }
        case 2u: {
            return project_ellipse(v, mu * normal);
        }
        default: {
            return project_disc(v, mu.x * normal);
        }
    }
}

// Where a record's p-th vector of four lies: 32 records lie side by side, vector by vector, so that invocations beside
// each other read beside each other.
fn tile(k: u32, vectors: u32, p: u32) -> u32 {
    return (((k >> 5u) * vectors + p) << 5u) | (k & 31u);
}

// Whether it is neither infinite nor NaN, nor beyond single precision, from its bits there: shaders need not know such
// numbers.
fn is_finite(x: real) -> bool {
    return (bitcast<u32>(f32(x)) & 0x7f800000u) != 0x7f800000u;
}

// Λ + ν(z − Λ) where R was halved, for z that was formed with the whole R.
fn towards(z: real3, old: real3) -> real3 {
    if params.scale == 1.0 {
        return z;
    }
    return old + real(params.scale) * (z - old);
}

// prox(z) of a contact (Nützi 2011, 5.6), relaxed by ω; `old` are its impulses.
fn prox_contact(contact: Prox, z: real3, old: real3) -> real3 {
    // A projection would hide it.
    if !is_finite(z.x + z.y + z.z) {
        return z;
    }
    let normal = max(z.x, 0.0);
    let seen = select(0.0, normal - old.x, params.coupled == 1u);
    let friction = z.yz - (contact.r.y * real(params.scale) * seen) * contact.coupling;
    let local = real3(
        normal,
        project_friction(contact.block >> 30u, friction, contact.mu, normal),
    );
    if contact.omega == 1.0 {
        return local;
    }
    return old + contact.omega * (local - old);
}

fn prox_row(row: Row, z: real, old: real) -> real {
    if !is_finite(z) {
        return z;
    }
    let local = clamp(z, row.bounds.x, row.bounds.y);
    if row.omega == 1.0 {
        return local;
    }
    return old + row.omega * (local - old);
}

fn times_inertia(body: Body, v: real3) -> real3 {
    let diagonal = body.diagonal.xyz;
    let across = body.across.xyz;
    return real3(
        diagonal.x * v.x + across.x * v.y + across.y * v.z,
        across.x * v.x + diagonal.y * v.y + across.z * v.z,
        across.y * v.x + across.z * v.y + diagonal.z * v.z,
    );
}

// z = Λ − R(J u + C Λ + bias) of a contact.
fn contact_argument(
    contact: Prox,
    frame: Frame,
    velocities: array<real3, 4>,
    old: real3,
) -> real3 {
    let relative = velocities[2] + cross(velocities[3], frame.second_arm)
        - velocities[0] - cross(velocities[1], frame.first_arm);
    let across = cross(frame.normal, frame.tangent);
    let w = real3(
        dot(frame.normal, relative) + frame.normal_bias + contact.compliance.x * old.x,
        dot(frame.tangent, relative) + frame.tangent_bias + contact.compliance.y * old.y,
        dot(across, relative) + contact.bias + contact.compliance.y * old.z,
    );
    return old - real(params.scale) * contact.r.xyy * w;
}

fn force(frame: Frame, impulse: real3) -> real3 {
    let across = cross(frame.normal, frame.tangent);
    return frame.normal * impulse.x + frame.tangent * impulse.y + across * impulse.z;
}
