// Bodies, ground and sky. One instanced draw per mesh; the light is a sun with an optional shadow
// map and a hemisphere of sky and ground.

struct View {
    clip_from_world: mat4x4<f32>,
    light_from_world: mat4x4<f32>,
    // Camera position; w: distance at which the ground has faded into the horizon.
    eye: vec4<f32>,
    // Towards the right and upper edge of the picture and into it; they span the view's rays.
    right: vec4<f32>,
    up: vec4<f32>,
    forward: vec4<f32>,
    // Direction towards the sun; w: 1 with shadows, 0 without.
    sun: vec4<f32>,
    // Spacing of the ground's grid, its strength, width of a shadow texel in the world and in the map.
    params: vec4<f32>,
    // Time of the waves; whether surfaces have a grain.
    moods: vec4<f32>,
};

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var shadow_map: texture_depth_2d;
@group(0) @binding(2) var shadow_sampler: sampler_comparison;

const STRIPES: u32 = 1u;
const GRID: u32 = 2u;
const UNLIT: u32 = 4u;
const SELECTED: u32 = 8u;
const MARK: u32 = 16u;
const GROUND: u32 = 32u;
const POINTED: u32 = 64u;
const SELECTION = vec3<f32>(1.0, 0.85, 0.2);

const HORIZON = vec3<f32>(0.62, 0.70, 0.78);
const ZENITH = vec3<f32>(0.16, 0.30, 0.52);
const SKY_LIGHT = vec3<f32>(0.42, 0.50, 0.60);
const GROUND_LIGHT = vec3<f32>(0.20, 0.185, 0.17);
const SUN_LIGHT = vec3<f32>(1.65, 1.52, 1.32);

struct Vertex {
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
};

struct Instance {
    @location(2) position: vec3<f32>,
    @location(3) flags: u32,
    @location(4) rotation: vec4<f32>,
    @location(5) scale: vec3<f32>,
    @location(6) color: vec4<f32>,
};

struct Fragment {
    @builtin(position) clip: vec4<f32>,
    @location(0) world: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) local: vec3<f32>,
    @location(3) @interpolate(flat) color: vec3<f32>,
    @location(4) @interpolate(flat) flags: u32,
};

fn rotate(q: vec4<f32>, v: vec3<f32>) -> vec3<f32> {
    let t = 2.0 * cross(q.xyz, v);
    return v + q.w * t + cross(q.xyz, t);
}

@vertex
fn body_vertex(vertex: Vertex, instance: Instance) -> Fragment {
    var out: Fragment;
    out.world = instance.position + rotate(instance.rotation, instance.scale * vertex.position);
    out.clip = view.clip_from_world * vec4<f32>(out.world, 1.0);
    out.normal = rotate(instance.rotation, vertex.normal / instance.scale);
    out.local = vertex.position;
    out.color = instance.color.rgb * instance.color.rgb;
    out.flags = instance.flags;
    return out;
}

@vertex
fn shadow_vertex(vertex: Vertex, instance: Instance) -> @builtin(position) vec4<f32> {
    let world = instance.position + rotate(instance.rotation, instance.scale * vertex.position);
    return view.light_from_world * vec4<f32>(world, 1.0);
}

// The share of the sun that reaches a point: 1 in the open, 0 in the shadow.
fn sunlight(world: vec3<f32>, normal: vec3<f32>) -> f32 {
    if view.sun.w < 0.5 {
        return 1.0;
    }
    // A step along the normal, longer where the light grazes, keeps surfaces from shading themselves.
    let grazing = 1.0 - max(dot(normal, view.sun.xyz), 0.0);
    let lifted = world + normal * view.params.z * (1.0 + 2.0 * grazing);
    let p = view.light_from_world * vec4<f32>(lifted, 1.0);
    let uv = vec2<f32>(0.5 + 0.5 * p.x, 0.5 - 0.5 * p.y);
    let edge = max(abs(p.x), abs(p.y));
    if edge > 1.0 || p.z > 1.0 || p.z < 0.0 {
        return 1.0;
    }
    var lit = 0.0;
    for (var i = -1; i <= 1; i++) {
        for (var j = -1; j <= 1; j++) {
            // One and a half texels apart: the sampler blends four each, which makes a soft edge without gaps.
            let offset = 1.5 * vec2<f32>(f32(i), f32(j)) * view.params.w;
            lit += textureSampleCompareLevel(shadow_map, shadow_sampler, uv + offset, p.z - 0.0005);
        }
    }
    // Shadows end softly where the map does.
    return mix(lit / 9.0, 1.0, smoothstep(0.85, 1.0, edge));
}

// A line of the given width every whole number, as wide on screen as the pixels make it.
fn grid_lines(at: vec2<f32>, width: f32) -> f32 {
    let step = max(fwidth(at), vec2<f32>(1e-6));
    let distance = abs(fract(at - 0.5) - 0.5);
    let line = 1.0 - smoothstep(vec2<f32>(width), vec2<f32>(width) + 1.5 * step, distance);
    // Lines closer than a few pixels are a grey that only flickers.
    let seen = 1.0 - smoothstep(vec2<f32>(0.15), vec2<f32>(0.5), step);
    return max(line.x * seen.x, line.y * seen.y);
}

// A number from 0 to 1 for every whole place (Jarzynski and Olano 2020, pcg2d's first half).
fn scatter(place: vec2<f32>) -> f32 {
    var v = bitcast<vec2<u32>>(vec2<i32>(place)) * 1664525u + 1013904223u;
    v.x += v.y * 1664525u;
    v.y += v.x * 1664525u;
    v ^= v >> vec2<u32>(16u);
    return f32((v.x + v.y * 1664525u) >> 8u) / 16777216.0;
}

// Smooth noise from 0 to 1 with one bump per unit.
fn noise(at: vec2<f32>) -> f32 {
    let cell = floor(at);
    let f = at - cell;
    let t = f * f * (3.0 - 2.0 * f);
    let e = vec2<f32>(0.0, 1.0);
    let low = mix(scatter(cell), scatter(cell + e.yx), t.x);
    let high = mix(scatter(cell + e.xy), scatter(cell + e.yy), t.x);
    return mix(low, high, t.y);
}

// What a ground's colour is multiplied with: patches some grid fields wide and a grain within one, each only
// where its bumps are wider than the pixels.
fn grain(at: vec2<f32>) -> f32 {
    let step = max(fwidth(at.x), fwidth(at.y));
    var sum = 1.0;
    if step < 1.0 {
        sum += 0.16 * (noise(0.23 * at) - 0.5) * (1.0 - smoothstep(0.3, 1.0, step));
    }
    if step < 0.07 {
        sum += 0.10 * (noise(7.0 * at) - 0.5) * (1.0 - smoothstep(0.02, 0.07, step));
    }
    return sum;
}

// Two caps and a band, so that a rolling sphere is seen to roll.
fn stripes(local: vec3<f32>, color: vec3<f32>) -> vec3<f32> {
    let n = normalize(local);
    let blur = fwidth(n.y) + 1e-4;
    let band = 1.0 - smoothstep(0.24 - blur, 0.24 + blur, abs(n.y));
    let half_tone = smoothstep(-blur, blur, n.x);
    let visible = 1.0 - smoothstep(0.2, 0.7, blur);
    let light = mix(color, vec3<f32>(0.90, 0.88, 0.84), 0.82);
    let base = color * mix(1.0, mix(0.62, 1.0, half_tone), visible);
    return mix(base, light, band * visible);
}

fn sky(direction: vec3<f32>) -> vec3<f32> {
    let up = direction.y;
    let blue = mix(HORIZON, ZENITH, pow(clamp(up, 0.0, 1.0), 0.55));
    let below = mix(HORIZON, vec3<f32>(0.20, 0.22, 0.25), smoothstep(0.0, 0.35, -up));
    let glow = pow(max(dot(direction, view.sun.xyz), 0.0), 24.0) * 0.18;
    return select(blue, below, up < 0.0) + glow * vec3<f32>(1.0, 0.9, 0.7);
}

// Rolls bright light off instead of clipping it.
fn expose(color: vec3<f32>) -> vec3<f32> {
    let c = color * 0.92;
    return c * (1.0 + c * 0.18) / (1.0 + c * 0.62);
}

@fragment
fn body_fragment(in: Fragment) -> @location(0) vec4<f32> {
    var color = in.color;
    let to_eye = view.eye.xyz - in.world;
    let range = length(to_eye);
    if (in.flags & UNLIT) != 0u {
        // A little shape, so that arrows are not flat.
        let facing = abs(dot(normalize(in.normal), to_eye / range));
        if (in.flags & MARK) != 0u {
            let octant = in.local.x * in.local.y * in.local.z;
            color = vec3<f32>(select(0.01, 1.0, octant > 0.0));
        }
        return vec4<f32>(color * (0.7 + 0.3 * facing), 1.0);
    }
    let normal = normalize(in.normal);
    if (in.flags & STRIPES) != 0u {
        color = stripes(in.local, color);
    }
    var far = 0.0;
    let spacing = view.params.x;
    if (in.flags & GROUND) != 0u {
        if view.moods.y > 0.5 {
            color *= grain(in.world.xz / spacing);
        }
        far = smoothstep(0.15, 1.0, range / view.eye.w);
    }
    if (in.flags & GRID) != 0u {
        let fine = grid_lines(in.world.xz / spacing, 0.008);
        let coarse = grid_lines(in.world.xz / (10.0 * spacing), 0.0015);
        let level = smoothstep(0.8, 0.95, normal.y) * view.params.y;
        color = mix(color, color * 0.62, level * max(0.45 * fine, coarse));
    }

    let towards = max(dot(normal, view.sun.xyz), 0.0);
    var sun = 0.0;
    if towards > 0.0 {
        sun = towards * sunlight(in.world, normal);
    }
    let ambient = mix(GROUND_LIGHT, SKY_LIGHT, 0.5 + 0.5 * normal.y);
    let half_way = normalize(view.sun.xyz + to_eye / range);
    let gloss = pow(max(dot(normal, half_way), 0.0), 48.0) * sun * 0.16 * f32((in.flags & GROUND) == 0u);
    var light = color * (SUN_LIGHT * sun + ambient) + gloss;
    if (in.flags & SELECTED) != 0u {
        let rim = pow(1.0 - max(dot(normal, to_eye / range), 0.0), 2.0);
        light = mix(light, SELECTION, 0.25 + 0.75 * rim);
    }
    if (in.flags & POINTED) != 0u {
        light = mix(light, vec3<f32>(1.6), 0.4);
    }
    return vec4<f32>(expose(mix(light, HORIZON, far)), 1.0);
}

@fragment
fn wire_fragment(in: Fragment) -> @location(0) vec4<f32> {
    let chosen = (in.flags & SELECTED) != 0u;
    let pointed = (in.flags & POINTED) != 0u;
    let color = select(in.color, vec3<f32>(1.0), pointed);
    return vec4<f32>(select(color, SELECTION, chosen), 1.0);
}

// Slope of one wave of length 2π/k along a direction; its period is the time that brings all waves back over
// a whole number. Waves that are shorter than a few pixels are left out: they would only flicker.
fn wave(at: vec2<f32>, step: f32, way: vec2<f32>, k: f32, rounds: f32, slope: f32) -> vec2<f32> {
    let turns = fract(rounds * view.moods.x / 1000.0);
    let phase = k * dot(way, at) + 6.2831853 * turns;
    return way * (slope * cos(phase) * (1.0 - smoothstep(0.4, 1.6, k * step)));
}

// Deep water: the sky where it is seen flat, green-blue and a little of what is below where it is seen from above.
@fragment
fn sea_fragment(in: Fragment) -> @location(0) vec4<f32> {
    let to_eye = view.eye.xyz - in.world;
    let range = length(to_eye);
    let towards = to_eye / range;
    // Crests are bent, so that they do not run straight to the horizon.
    let flat_place = in.world.xz;
    let at = flat_place + 4.0 * sin(0.045 * flat_place.yx) + 1.2 * sin(0.21 * flat_place.yx);
    // Pixels of the water seen flat are long.
    let step = max(fwidth(flat_place.x), fwidth(flat_place.y));
    // Periods from ω² = g k.
    var slope = wave(at, step, vec2<f32>(0.80, 0.60), 0.11, 165.0, 0.030);
    slope += wave(at, step, vec2<f32>(0.96, -0.28), 0.23, 239.0, 0.035);
    slope += wave(at, step, vec2<f32>(0.28, 0.96), 0.51, 356.0, 0.045);
    slope += wave(at, step, vec2<f32>(-0.60, 0.80), 1.03, 506.0, 0.055);
    slope += wave(at, step, vec2<f32>(0.62, -0.785), 2.30, 756.0, 0.060);
    slope += wave(at, step, vec2<f32>(0.936, 0.352), 4.90, 1103.0, 0.060);
    let normal = normalize(vec3<f32>(-slope.x, 1.0, -slope.y));
    // Schlick's share of light that water reflects.
    let flat_share = 1.0 - clamp(dot(normal, towards), 0.0, 1.0);
    let mirror = 0.02 + 0.98 * pow(flat_share, 5.0);
    var back = reflect(-towards, normal);
    back.y = abs(back.y);
    let glint = pow(max(dot(back, view.sun.xyz), 0.0), 220.0) * 2.0;
    let depth = vec3<f32>(0.010, 0.060, 0.080) * (0.6 + 0.4 * normal.y + 1.5 * (slope.x + slope.y));
    let sunlit = sunlight(in.world, vec3<f32>(0.0, 1.0, 0.0));
    var light = mix(depth * (0.55 + 0.45 * sunlit), sky(back), mirror) + glint * sunlit;
    let far = smoothstep(0.15, 1.0, range / view.eye.w);
    light = mix(light, HORIZON, far);
    return vec4<f32>(expose(light), mix(0.86, 1.0, max(mirror, far)));
}

struct SkyFragment {
    @builtin(position) clip: vec4<f32>,
    @location(0) ray: vec3<f32>,
};

// One triangle over the whole picture, at the far end of the reversed depth.
@vertex
fn sky_vertex(@builtin(vertex_index) index: u32) -> SkyFragment {
    let corner = vec2<f32>(f32(index & 1u) * 4.0 - 1.0, f32(index >> 1u) * 4.0 - 1.0);
    var out: SkyFragment;
    out.clip = vec4<f32>(corner, 0.0, 1.0);
    out.ray = view.forward.xyz + corner.x * view.right.xyz + corner.y * view.up.xyz;
    return out;
}

@fragment
fn sky_fragment(in: SkyFragment) -> @location(0) vec4<f32> {
    return vec4<f32>(expose(sky(normalize(in.ray))), 1.0);
}
