#!/usr/bin/env bash
# trimesh 5.2.0: the moment_inertia of the primitives Cylinder and Sphere ignores their density; their mass does not.
#
# What was expected: after `shape.density = 7800`, mass and moment_inertia belong to the same body. The docstring of
# density says that it is "used in inertia calculations", and Box, Capsule and every plain mesh behave so.
# What happens: Cylinder and Sphere override moment_inertia with a closed form in which the volume stands for the mass,
# so the tensor stays that of density 1. On the very same object mass, mass_properties["inertia"],
# moment_inertia_frame and to_mesh().moment_inertia all use the density. No warning is given.
# Why it matters: who fills a URDF, SDF or MJCF inertial element from shape.mass and shape.moment_inertia gets a steel
# wheel of 122 kg that spins up 7800 times too easily. The tensor is positive and keeps the triangle
# inequality, so the checks that engines make on inertias cannot notice it.
# What helps: read mass_properties["inertia"], or call to_mesh() first.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check trimesh==5.2.0 numpy==2.4.6 scipy==1.17.1
"$dir/venv/bin/python" - <<'PY'
import sys
import numpy as np
import trimesh
from trimesh import primitives

DENSITY = 7800.0
print(f"trimesh {trimesh.__version__}, numpy {np.__version__}, python {sys.version.split()[0]}, density {DENSITY:g}")
shapes = {
    "Cylinder": (lambda: primitives.Cylinder(radius=0.2, height=0.125, sections=128), True),
    "Sphere": (lambda: primitives.Sphere(radius=0.2, subdivisions=5), True),
    "Box": (lambda: primitives.Box(extents=[0.1, 0.2, 0.3]), False),
    "Capsule": (lambda: primitives.Capsule(radius=0.2, height=0.3), False),
}
failed = []
for name, (make, ignores) in shapes.items():
    shape = make()  # a fresh object, so that no value of another density can have been kept
    shape.density = DENSITY
    mesh = shape.to_mesh()
    mesh.density = DENSITY
    told = np.diag(shape.moment_inertia)
    props = np.diag(shape.mass_properties["inertia"])
    frame = np.diag(shape.moment_inertia_frame(np.eye(4)))
    plain = np.diag(mesh.moment_inertia)
    ratio = props / told
    print(f"{name:8} mass {shape.mass:9.4f} kg, moment_inertia {told.round(6)},\n"
          f"         mass_properties {props.round(6)}, frame {frame.round(6)}, to_mesh {plain.round(6)}, "
          f"ratio {ratio.round(2)}")
    if name == "Cylinder":
        closed = shape.mass * np.array([3 * 0.2**2 + 0.125**2, 3 * 0.2**2 + 0.125**2, 6 * 0.2**2]) / 12
        print(f"         closed form for that mass {closed.round(6)}")
        if abs(props / closed - 1).max() > 0.01:
            failed.append("mass_properties of Cylinder does not agree with the closed form within 1 %")
        if told[0] + told[1] < told[2] or told.min() <= 0.0:
            failed.append("the tensor of Cylinder breaks the triangle inequality")
    if abs(shape.mass / (DENSITY * shape.volume) - 1) > 0.01 or abs(props / plain - 1).max() > 1e-9:
        failed.append(f"the mass properties of {name} do not follow the density")
    if abs(frame / props - 1).max() > 1e-9:
        failed.append(f"moment_inertia_frame of {name} differs from mass_properties")
    if abs(ratio / (DENSITY if ignores else 1.0) - 1).max() > 0.01:
        failed.append(f"moment_inertia of {name} {'now follows' if ignores else 'no longer follows'} the density")
if failed:
    sys.exit("The behaviour has changed: " + "; ".join(failed) + ".")
print("As seen before: moment_inertia ignores the density for Cylinder and Sphere, and uses it for Box and Capsule.")
PY

# Output that was seen (Linux, x86-64):
#   trimesh 5.2.0, numpy 2.4.6, python 3.11.7, density 7800
#   Cylinder mass  122.4729 kg, moment_inertia [0.000178 0.000178 0.000314],
#            mass_properties [1.383707 1.383707 2.448475], frame [1.383707 1.383707 2.448475], to_mesh [1.383707 1.383707 2.448475], ratio [7794.1  7794.1  7793.74]
#            closed form for that mass [1.384199 1.384199 2.449458]
#   Sphere   mass  261.2392 kg, moment_inertia [0.000536 0.000536 0.000536],
#            mass_properties [4.178319 4.178319 4.178319], frame [4.178319 4.178319 4.178319], to_mesh [4.178319 4.178319 4.178319], ratio [7792.97 7792.97 7792.97]
#   Box      mass   46.8000 kg, moment_inertia [0.507 0.39  0.195],
#            mass_properties [0.507 0.39  0.195], frame [0.507 0.39  0.195], to_mesh [0.507 0.39  0.195], ratio [1. 1. 1.]
#   Capsule  mass  553.9135 kg, moment_inertia [20.998502 20.998502 10.014157],
#            mass_properties [20.998502 20.998502 10.014157], frame [20.998502 20.998502 10.014157], to_mesh [20.998502 20.998502 10.014157], ratio [1. 1. 1.]
#   As seen before: moment_inertia ignores the density for Cylinder and Sphere, and uses it for Box and Capsule.
