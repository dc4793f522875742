//! The kernels' CPU twins: the same arithmetic in the same precision and order, for cross-checks (Nützi 2011, 3.7.1), and
//! for machines whose graphics processor cannot be used.

use std::ops::Range;

use super::layout::{LAW_SHIFT, Layout, Product, ROWS};
use super::matrices::BlockRow;
use super::program::{Batch, Kernel, Program, Step, WORKGROUP};
use super::real::Real;
use super::records::{Body, Frame, Prox, Row};
use super::{Engine, Measured, Trouble, Tuning};

type V<R> = [R; 3];

fn add<R: Real>(a: V<R>, b: V<R>) -> V<R> {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn sub<R: Real>(a: V<R>, b: V<R>) -> V<R> {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn scaled<R: Real>(a: V<R>, by: R) -> V<R> {
    a.map(|x| x * by)
}

fn dot<R: Real>(a: V<R>, b: V<R>) -> R {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross<R: Real>(a: V<R>, b: V<R>) -> V<R> {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn within<R: Real>(x: R, limit: R) -> R {
    if limit > R::ZERO {
        x.max(-limit).min(limit)
    } else {
        R::ZERO
    }
}

fn project_disc<R: Real>(v: [R; 2], radius: R) -> [R; 2] {
    let square = v[0] * v[0] + v[1] * v[1];
    if square <= radius * radius {
        return v;
    }
    let scale = radius / square.sqrt();
    v.map(|x| x * scale)
}

fn project_ellipse<R: Real>(v: [R; 2], axes: [R; 2]) -> [R; 2] {
    if axes[0] <= R::ZERO || axes[1] <= R::ZERO {
        return [within(v[0], axes[0]), within(v[1], axes[1])];
    }
    if axes[0] == axes[1] {
        return project_disc(v, axes[0]);
    }
    let unit = [v[0] / axes[0], v[1] / axes[1]];
    if unit[0] * unit[0] + unit[1] * unit[1] <= R::ONE {
        return v;
    }
    let size = axes[0].max(axes[1]);
    let a = axes.map(|x| x / size);
    let s = a.map(|x| x * x);
    let p = [a[0] * (v[0] / size).abs(), a[1] * (v[1] / size).abs()];
    let mut t = (p[0] - s[0]).max(p[1] - s[1]).max(R::ZERO);
    for _ in 0..60 {
        let q = [p[0] / (s[0] + t), p[1] / (s[1] + t)];
        let squares = q.map(|x| x * x);
        let slopes = [squares[0] / (s[0] + t), squares[1] / (s[1] + t)];
        let f = squares[0] + squares[1] - R::ONE;
        if f <= R::ZERO {
            break;
        }
        let next = t + f / ((R::ONE + R::ONE) * (slopes[0] + slopes[1]));
        if next <= t {
            break;
        }
        t = next;
    }
    [v[0] * (s[0] / (s[0] + t)), v[1] * (s[1] / (s[1] + t))]
}

/// Whether a number is one in single precision too: shaders tell it from the bits there.
fn is_finite<R: Real>(x: R) -> bool {
    (x.wide() as f32).is_finite()
}

/// The projection of a friction impulse by the number of its law.
pub fn project_friction<R: Real>(law: u32, v: [R; 2], mu: [R; 2], normal: R) -> [R; 2] {
    match law {
        1 => [within(v[0], mu[0] * normal), within(v[1], mu[1] * normal)],
        2 => project_ellipse(v, mu.map(|mu| mu * normal)),
        _ => project_disc(v, mu[0] * normal),
    }
}

/// prox(z) of a contact, relaxed by ω.
pub fn prox_contact<R: Real>(contact: &Prox<R>, tuning: &Tuning, z: V<R>, old: V<R>) -> V<R> {
    // A projection would hide it.
    if !is_finite(z[0] + z[1] + z[2]) {
        return z;
    }
    let normal = z[0].max(R::ZERO);
    let seen = if tuning.coupled {
        normal - old[0]
    } else {
        R::ZERO
    };
    let by = contact.r[1] * tuning.scale() * seen;
    let friction = [
        z[1] - by * contact.coupling[0],
        z[2] - by * contact.coupling[1],
    ];
    let [f1, f2] = project_friction(contact.block >> LAW_SHIFT, friction, contact.mu, normal);
    let local = [normal, f1, f2];
    if { contact.omega } == R::ONE {
        return local;
    }
    add(old, scaled(sub(local, old), contact.omega))
}

fn prox_row<R: Real>(row: &Row<R>, z: R, old: R) -> R {
    if !is_finite(z) {
        return z;
    }
    let local = z.max(row.bounds[0]).min(row.bounds[1]);
    if { row.omega } == R::ONE {
        return local;
    }
    old + row.omega * (local - old)
}

fn times_inertia<R: Real>(body: &Body<R>, v: V<R>) -> V<R> {
    let [d, a] = [body.diagonal, body.across];
    [
        d[0] * v[0] + a[0] * v[1] + a[1] * v[2],
        a[0] * v[0] + d[1] * v[1] + a[2] * v[2],
        a[1] * v[0] + a[2] * v[1] + d[2] * v[2],
    ]
}

/// z = Λ − R(J u + C Λ + bias).
fn contact_argument<R: Real>(
    contact: &Prox<R>,
    frame: &Frame<R>,
    of: [&Body<R>; 2],
    scale: R,
    old: V<R>,
) -> V<R> {
    let [a, b] = of;
    let relative = sub(
        sub(add(b.linear, cross(b.angular, frame.second_arm)), a.linear),
        cross(a.angular, frame.first_arm),
    );
    let across = cross(frame.normal, frame.tangent);
    let [cn, ct] = contact.compliance;
    let w = [
        dot(frame.normal, relative) + frame.normal_bias + cn * old[0],
        dot(frame.tangent, relative) + frame.tangent_bias + ct * old[1],
        dot(across, relative) + contact.bias + ct * old[2],
    ];
    let [rn, rt] = contact.r.map(|r| scale * r);
    [old[0] - rn * w[0], old[1] - rt * w[1], old[2] - rt * w[2]]
}

fn force<R: Real>(frame: &Frame<R>, impulse: V<R>) -> V<R> {
    let across = cross(frame.normal, frame.tangent);
    let along = add(
        scaled(frame.normal, impulse[0]),
        scaled(frame.tangent, impulse[1]),
    );
    add(along, scaled(across, impulse[2]))
}

/// The contacts and the general rows that a dispatch works on.
fn blocks_of<'a, R: Real>(layout: &'a Layout<R>, step: &Step) -> (Range<usize>, &'a [Row<R>]) {
    let [first, end] = [step.first, step.first + step.count].map(|k| k as usize);
    let contacts = layout.prox.len();
    let rows = first.max(contacts) - contacts..end.max(contacts) - contacts;
    (first.min(contacts)..end.min(contacts), &layout.rows[rows])
}

/// What changes while a problem is solved.
#[derive(Default)]
pub struct Host<R: Real> {
    pub bodies: Vec<Body<R>>,
    pub lambda: Vec<R>,
    pub before: Vec<R>,
    pub checkpoint: Vec<R>,
    pub argument: Vec<R>,
    pub measured: Measured<R>,
}

impl<R: Real> Host<R> {
    /// Does what a dispatch of a kernel does.
    pub fn dispatch(&mut self, layout: &Layout<R>, step: &Step, tuning: &Tuning) {
        let [first, end] = [step.first as usize, (step.first + step.count) as usize];
        match step.kernel {
            Kernel::JorProject => self.jor_project(layout, step, tuning),
            Kernel::Gather => self.gather(layout, step),
            Kernel::JorSmall => {
                for _ in 0..step.repeat {
                    self.jor_project(layout, step, tuning);
                    self.gather(layout, step);
                }
            }
            Kernel::SorSweep => layout.units[first..end]
                .iter()
                .for_each(|unit| self.sweep_unit(layout, *unit, tuning)),
            Kernel::SorSmall => {
                for _ in 0..step.repeat {
                    for color in &layout.colors[first..end] {
                        for k in color.clone() {
                            self.sweep_unit(layout, layout.units[k as usize], tuning);
                        }
                    }
                }
            }
            Kernel::Product => {
                for b in first..end {
                    let z = self.block_product(layout, b, step.segment as usize);
                    let [from, to] = [b, b + 1].map(|b| layout.sparse.rows[b].row as usize);
                    self.argument[from..to].copy_from_slice(&z[..to - from]);
                }
            }
            Kernel::Prox => self.prox(layout, step, tuning),
            Kernel::SorSparse => layout.units[first..end]
                .iter()
                .for_each(|unit| self.sparse_unit(layout, *unit, step.segment as usize, tuning)),
            Kernel::DenseProduct => {
                for row in step.span[0]..step.span[0] + step.span[1] {
                    let sum = self.dense_product(layout, row);
                    self.argument[row as usize] = sum + layout.dense.offset[row as usize];
                }
            }
            Kernel::DenseStart => {
                for row in step.span[0]..step.span[0] + step.span[1] {
                    let columns = layout.dense.column[row as usize]..step.count;
                    self.argument[row as usize] = self.dense_row(layout, row, columns);
                }
            }
            Kernel::DenseA => self.dense_a(layout, step.first..step.first + step.count, tuning),
            Kernel::DenseGroup => self.dense_group(layout, &layout.units[first..end], tuning),
            Kernel::DenseB => {
                let own = layout.rows_of(&(step.first..step.first + step.count));
                for row in step.span[0]..step.span[0] + step.span[1] {
                    if step.others > 0 || !own.contains(&row) {
                        let sum = self.dense_row(layout, row, own.clone());
                        self.argument[row as usize] += sum;
                    }
                }
            }
            Kernel::Note => self.before.clone_from(&self.lambda),
            Kernel::Keep => self.checkpoint.clone_from(&self.lambda),
            Kernel::Return => self.lambda.clone_from(&self.checkpoint),
            Kernel::Criterion => self.criterion(layout, step, tuning),
            // The criterion has summed already.
            Kernel::Total => {}
        }
    }

    fn contact(&self, at: u32) -> V<R> {
        let at = at as usize;
        [self.lambda[at], self.lambda[at + 1], self.lambda[at + 2]]
    }

    fn set_contact(&mut self, at: u32, new: V<R>) {
        let at = at as usize;
        self.lambda[at..at + 3].copy_from_slice(&new);
    }

    fn row_argument(&self, layout: &Layout<R>, row: &Row<R>, scale: R) -> R {
        let old = self.lambda[row.at as usize];
        let mut w = R::ZERO;
        for entry in &layout.entries[row.entries[0] as usize..row.entries[1] as usize] {
            let body = &self.bodies[entry.body as usize];
            w += dot(entry.linear, body.linear);
            w += dot(entry.angular, body.angular);
        }
        w += row.compliance * old + row.bias;
        old - row.r * scale * w
    }

    fn jor_project(&mut self, layout: &Layout<R>, step: &Step, tuning: &Tuning) {
        let (contacts, rows) = blocks_of(layout, step);
        for (contact, frame) in layout
            .prox
            .iter()
            .zip(&layout.frames)
            .skip(contacts.start)
            .take(contacts.len())
        {
            let old = self.contact(contact.at);
            let of = [frame.first, frame.second].map(|b| &self.bodies[b as usize]);
            let z = contact_argument(contact, frame, of, tuning.scale(), old);
            self.set_contact(contact.at, prox_contact(contact, tuning, z, old));
        }
        for row in rows {
            let z = self.row_argument(layout, row, tuning.scale());
            let at = row.at as usize;
            self.lambda[at] = prox_row(row, z, self.lambda[at]);
        }
    }

    fn gather(&mut self, layout: &Layout<R>, step: &Step) {
        let is_first = step.span[0] == 0;
        let piece = step.span[0]..step.span[0] + step.span[1];
        for b in 0..layout.bodies.len() {
            if !layout.bodies[b].moves() {
                continue;
            }
            let [mut linear, mut angular] = [[R::ZERO; 3]; 2];
            let [from, to] = [b, b + 1].map(|b| layout.touches[b] as usize);
            for touch in layout.touches[from..to].chunks_exact(2) {
                let [block, side] = [touch[0], touch[1]];
                if block & ROWS != 0 {
                    if !is_first {
                        continue;
                    }
                    let row = &layout.rows[(block & !ROWS) as usize];
                    let impulse = self.lambda[row.at as usize];
                    let entry = &layout.entries[side as usize];
                    linear = add(linear, scaled(entry.linear, impulse));
                    angular = add(angular, scaled(entry.angular, impulse));
                } else if piece.contains(&block) {
                    let frame = &layout.frames[block as usize];
                    let push = force(frame, self.contact(layout.prox[block as usize].at));
                    if side == 0 {
                        linear = sub(linear, push);
                        angular = sub(angular, cross(frame.first_arm, push));
                    } else {
                        linear = add(linear, push);
                        angular = add(angular, cross(frame.second_arm, push));
                    }
                }
            }
            let [u0, u1, u2, _, w0, w1, w2, _] = layout.free[b];
            let body = &mut self.bodies[b];
            if is_first {
                (body.linear, body.angular) = ([u0, u1, u2], [w0, w1, w2]);
            }
            body.linear = add(body.linear, scaled(linear, body.inverse_mass));
            body.angular = add(body.angular, times_inertia(body, angular));
        }
    }

    fn sweep_unit(&mut self, layout: &Layout<R>, unit: [u32; 2], tuning: &Tuning) {
        let first = (unit[0] & !ROWS) as usize;
        let members = first..first + unit[1] as usize;
        if unit[0] & ROWS != 0 {
            for row in &layout.rows[members] {
                let at = row.at as usize;
                let old = self.lambda[at];
                let new = prox_row(row, self.row_argument(layout, row, tuning.scale()), old);
                self.lambda[at] = new;
                for entry in &layout.entries[row.entries[0] as usize..row.entries[1] as usize] {
                    let body = &mut self.bodies[entry.body as usize];
                    if body.moves() {
                        let push = scaled(entry.linear, (new - old) * body.inverse_mass);
                        body.linear = add(body.linear, push);
                        let turn = times_inertia(body, scaled(entry.angular, new - old));
                        body.angular = add(body.angular, turn);
                    }
                }
            }
            return;
        }
        for c in members {
            let (contact, frame) = (&layout.prox[c], &layout.frames[c]);
            let pair = [frame.first, frame.second].map(|b| b as usize);
            let old = self.contact(contact.at);
            let of = pair.map(|b| &self.bodies[b]);
            let z = contact_argument(contact, frame, of, tuning.scale(), old);
            let new = prox_contact(contact, tuning, z, old);
            self.set_contact(contact.at, new);
            let push = force(frame, sub(new, old));
            for (side, arm) in [frame.first_arm, frame.second_arm].into_iter().enumerate() {
                let body = &mut self.bodies[pair[side]];
                if !body.moves() {
                    continue;
                }
                let linear = scaled(push, body.inverse_mass);
                let angular = times_inertia(body, cross(arm, push));
                if side == 0 {
                    body.linear = sub(body.linear, linear);
                    body.angular = sub(body.angular, angular);
                } else {
                    body.linear = add(body.linear, linear);
                    body.angular = add(body.angular, angular);
                }
            }
        }
    }

    /// (T Λ + d)_b; a general row has one component only.
    pub fn block_product(&self, layout: &Layout<R>, b: usize, segment: usize) -> V<R> {
        let sparse = &layout.sparse;
        let [here, next]: [BlockRow; 2] = [sparse.rows[b], sparse.rows[b + 1]];
        let height = (next.row - here.row) as usize;
        let mut sum = [R::ZERO; 3];
        let offset = &sparse.offset[here.row as usize..next.row as usize];
        sum[..height].copy_from_slice(offset);
        let mut v = sparse.segments[segment].1.start + here.value as usize;
        for of in &sparse.column[here.column as usize..next.column as usize] {
            let [from, to] = [*of, of + 1].map(|b| sparse.rows[b as usize].row as usize);
            let x = &self.lambda[from..to];
            for sum in &mut sum[..height] {
                let line = &sparse.value[v..v + x.len()];
                v += x.len();
                *sum += match (line, x) {
                    ([a, b, c], [x, y, z]) => *a * *x + *b * *y + *c * *z,
                    _ => line.iter().zip(x).map(|(a, x)| *a * *x).sum(),
                };
            }
        }
        sum
    }

    /// Σ|T||Λ| + |d| of a block row.
    #[cfg(all(test, feature = "gpu"))]
    pub fn magnitude(&self, layout: &Layout<R>, b: usize, segment: usize) -> V<R> {
        let sparse = &layout.sparse;
        let [here, next] = [sparse.rows[b], sparse.rows[b + 1]];
        let height = (next.row - here.row) as usize;
        let mut sum = [R::ZERO; 3];
        let offset = &sparse.offset[here.row as usize..next.row as usize];
        sum.iter_mut()
            .zip(offset)
            .for_each(|(sum, d)| *sum = d.abs());
        let mut v = sparse.segments[segment].1.start + here.value as usize;
        for of in &sparse.column[here.column as usize..next.column as usize] {
            let [from, to] = [*of, of + 1].map(|b| sparse.rows[b as usize].row as usize);
            for sum in &mut sum[..height] {
                for x in &self.lambda[from..to] {
                    *sum += (sparse.value[v] * *x).abs();
                    v += 1;
                }
            }
        }
        sum
    }

    fn prox(&mut self, layout: &Layout<R>, step: &Step, tuning: &Tuning) {
        let (contacts, rows) = blocks_of(layout, step);
        for contact in &layout.prox[contacts] {
            let at = contact.at as usize;
            let z = [
                self.argument[at],
                self.argument[at + 1],
                self.argument[at + 2],
            ];
            let old = self.contact(contact.at);
            let new = prox_contact(contact, tuning, tuning.towards(z, old), old);
            self.set_contact(contact.at, new);
        }
        for row in rows {
            let at = row.at as usize;
            let old = self.lambda[at];
            let [z] = tuning.towards([self.argument[at]], [old]);
            self.lambda[at] = prox_row(row, z, old);
        }
    }

    fn sparse_unit(&mut self, layout: &Layout<R>, unit: [u32; 2], segment: usize, tuning: &Tuning) {
        let first = (unit[0] & !ROWS) as usize;
        for c in first..first + unit[1] as usize {
            if unit[0] & ROWS != 0 {
                let row = &layout.rows[c];
                let old = self.lambda[row.at as usize];
                let [z, ..] = self.block_product(layout, row.block as usize, segment);
                let [z] = tuning.towards([z], [old]);
                self.lambda[row.at as usize] = prox_row(row, z, old);
            } else {
                let contact = &layout.prox[c];
                let old = self.contact(contact.at);
                let block = contact.block & !(3 << LAW_SHIFT);
                let z = self.block_product(layout, block as usize, segment);
                let new = prox_contact(contact, tuning, tuning.towards(z, old), old);
                self.set_contact(contact.at, new);
            }
        }
    }

    /// Σ T Λ of a row over some columns.
    fn dense_row(&self, layout: &Layout<R>, row: u32, columns: Range<u32>) -> R {
        let mut sum = R::ZERO;
        for x in columns {
            sum += layout.dense.value[layout.dense.at(row, x as usize)] * self.lambda[x as usize];
        }
        sum
    }

    /// The same of all columns, in the order of a workgroup: each invocation four columns in turn, then halves.
    fn dense_product(&self, layout: &Layout<R>, row: u32) -> R {
        let mut sums = [R::ZERO; WORKGROUP as usize];
        let begin = layout.dense.at(row, 0);
        let values = &layout.dense.value[begin..begin + self.lambda.len()];
        let whole = self.lambda.len() / 4;
        for x in 0..whole {
            let product = |k: usize| values[4 * x + k] * self.lambda[4 * x + k];
            sums[x % WORKGROUP as usize] += product(0) + product(1) + product(2) + product(3);
        }
        let rest = values[4 * whole..].iter().zip(&self.lambda[4 * whole..]);
        for (sum, (value, x)) in sums.iter_mut().zip(rest) {
            *sum += *value * *x;
        }
        let mut half = sums.len() / 2;
        while half > 0 {
            let (first, second) = sums.split_at_mut(half);
            for (a, b) in first.iter_mut().zip(second) {
                *a += *b;
            }
            half /= 2;
        }
        sums[0]
    }

    /// All rows of a diagonal block see new impulses.
    fn see(&mut self, layout: &Layout<R>, block: &Range<u32>, columns: Range<u32>) {
        for row in block.clone() {
            let sum = self.dense_row(layout, row, columns.clone());
            self.argument[row as usize] += sum;
        }
    }

    fn dense_a(&mut self, layout: &Layout<R>, units: Range<u32>, tuning: &Tuning) {
        let block = layout.rows_of(&units);
        for [unit, at] in &layout.units[units.start as usize..units.end as usize] {
            let own = *at as usize;
            let z = |host: &Self, row: usize| {
                let z = host.argument[row] + layout.dense.offset[row];
                let [z] = tuning.towards([z], [host.lambda[row]]);
                z
            };
            if unit & ROWS != 0 {
                let row = &layout.rows[(unit & !ROWS) as usize];
                self.lambda[own] = prox_row(row, z(self, own), self.lambda[own]);
                self.argument[own] = R::ZERO;
                self.see(layout, &block, *at..at + 1);
                continue;
            }
            let contact = &layout.prox[*unit as usize];
            self.lambda[own] = z(self, own).max(R::ZERO);
            self.argument[own] = R::ZERO;
            self.see(layout, &block, *at..at + 1);
            let friction = [z(self, own + 1), z(self, own + 2)];
            let law = contact.block >> LAW_SHIFT;
            let friction = project_friction(law, friction, contact.mu, self.lambda[own]);
            self.lambda[own + 1..own + 3].copy_from_slice(&friction);
            self.argument[own + 1..own + 3].fill(R::ZERO);
            self.see(layout, &block, at + 1..at + 3);
        }
    }

    /// Blocks that are projected together, from what their rows have summed up.
    fn dense_group(&mut self, layout: &Layout<R>, units: &[[u32; 2]], tuning: &Tuning) {
        for [unit, at] in units {
            let own = *at as usize;
            let z = |host: &Self, row: usize| host.argument[row] + layout.dense.offset[row];
            if unit & ROWS != 0 {
                let old = self.lambda[own];
                let [z] = tuning.towards([z(self, own)], [old]);
                self.lambda[own] = prox_row(&layout.rows[(unit & !ROWS) as usize], z, old);
                self.argument[own] = R::ZERO;
                continue;
            }
            let old = self.contact(*at);
            let z = [own, own + 1, own + 2].map(|row| z(self, row));
            let contact = &layout.prox[*unit as usize];
            let new = prox_contact(contact, tuning, tuning.towards(z, old), old);
            self.set_contact(*at, new);
            self.argument[own..own + 3].fill(R::ZERO);
        }
    }

    fn criterion(&mut self, layout: &Layout<R>, step: &Step, tuning: &Tuning) {
        let inverse = |x: R| if x > R::ZERO { R::ONE / x } else { R::ZERO };
        let (contacts, rows) = blocks_of(layout, step);
        let mut all = match contacts.start {
            0 => Measured::default(),
            _ => self.measured,
        };
        for contact in &layout.prox[contacts] {
            let at = contact.at as usize;
            let new = self.contact(contact.at);
            let old = [self.before[at], self.before[at + 1], self.before[at + 2]];
            let r = contact.r.map(inverse);
            let step = sub(new, old);
            let local = step.map(|x| x / contact.omega);
            let speed = (local[0].abs() * r[0]).max(local[1].hypot(local[2]) * r[1]);
            all.note(&old, &step, speed, new[0] * r[0], tuning.relative());
        }
        for row in rows {
            let at = row.at as usize;
            let (new, old) = (self.lambda[at], self.before[at]);
            let r = inverse(row.r);
            let step = new - old;
            let speed = (step / row.omega).abs() * r;
            all.note(&[old], &[step], speed, new.abs() * r, tuning.relative());
        }
        self.measured = all;
    }
}

impl<R: Real> Engine<R> for Host<R> {
    fn load(&mut self, layout: &Layout<R>, _: Product, _: &Program) -> Result<(), Trouble> {
        self.bodies.clone_from(&layout.bodies);
        self.lambda.clone_from(&layout.lambda);
        self.before.clone_from(&layout.lambda);
        self.checkpoint.clone_from(&layout.lambda);
        self.argument.clear();
        self.argument.resize(layout.lambda.len(), R::ZERO);
        Ok(())
    }

    fn run(
        &mut self,
        layout: &Layout<R>,
        program: &Program,
        batch: Batch,
        tuning: &Tuning,
    ) -> Result<Measured<R>, Trouble> {
        program.in_batch(batch, |step| self.dispatch(layout, step, tuning));
        Ok(self.measured)
    }

    fn keep(&mut self, layout: &Layout<R>, program: &Program) -> Result<(), Trouble> {
        let tuning = Tuning::default();
        program
            .keep
            .iter()
            .for_each(|step| self.dispatch(layout, step, &tuning));
        Ok(())
    }

    fn go_back(&mut self, layout: &Layout<R>, program: &Program) -> Result<(), Trouble> {
        let tuning = Tuning::default();
        program
            .back
            .iter()
            .for_each(|step| self.dispatch(layout, step, &tuning));
        Ok(())
    }

    fn read(&mut self, lambda: &mut Vec<R>) -> Result<(), Trouble> {
        lambda.clone_from(&self.lambda);
        Ok(())
    }
}
