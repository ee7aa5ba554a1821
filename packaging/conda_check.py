"""The recipe of conda-forge, filled for a source distribution, is read and rendered by rattler-build.

    python packaging/conda_check.py SDIST

For Linux on both processors (the second cross-built, as conda-forge does it) and macOS. Needs py-rattler-build. Nothing is fetched or built.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import rattler_build

ROOT = Path(__file__).resolve().parent.parent
#: The platform that is built for, and the one that builds.
PLATFORMS = [("linux-64", "linux-64"), ("linux-aarch64", "linux-64"), ("osx-arm64", "osx-64")]
#: What conda-forge's global pinning gives every recipe.
VARIANTS = {
    "c_compiler": ["gcc"], "rust_compiler": ["rust"], "c_stdlib": ["sysroot"], "c_stdlib_version": ["2.17"], "python": ["3.12.* *_cpython"],
}  # fmt: skip


def rendered(recipe: Path, target: str, build: str) -> rattler_build.RenderedVariant:
    """The one package of a platform."""
    platforms = rattler_build.PlatformConfig(target_platform=target, build_platform=build, host_platform=target)
    stage = rattler_build.Stage0Recipe.from_file(recipe)
    (one,) = stage.render(rattler_build.VariantConfig(VARIANTS), rattler_build.RenderConfig(platform=platforms))
    return one


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("sdist", type=Path)
    sdist: Path = parser.parse_args().sdist
    version = sdist.name.removeprefix("ncforge-").removesuffix(".tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "packaging/recipes.py",
            f"--sdist={sdist.resolve()}",
            f"--url=https://example.org/{sdist.name}",
        ]
        subprocess.run([*command, f"--out={folder}"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        for target, build in PLATFORMS:
            recipe = rendered(Path(folder) / "conda-forge" / "recipe.yaml", target, build).recipe.to_dict()
            package = recipe["package"]
            if (package["name"], package["version"]) != ("ncforge", version):
                sys.exit(f"error: for {target}, the recipe makes {package}, not ncforge {version}")
            tools = str(recipe["requirements"]["build"])
            if ("cross-python" in tools) != (target != build):
                sys.exit(f"error: for {target} on {build}, the build needs {tools}")
            print(f"{target}, built on {build}: {package['name']} {package['version']}")
    print(f"conda-check: rattler-build {rattler_build.rattler_build_version()} reads the recipe")
    return 0


if __name__ == "__main__":
    sys.exit(main())
