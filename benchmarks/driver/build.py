"""Builds the servers and the load generators, into benchmarks/.build.

The C programs are compiled each time: that takes two seconds. The C++ ones take a minute, so they
are made only if a source is newer, and only if a gRPC column is wanted.
"""

import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(HERE, ".build")
GRPC_PACKAGES = ("g++ pkg-config protobuf-compiler protobuf-compiler-grpc libprotobuf-dev "
                 "libgrpc++-dev")
C_FLAGS = ["-O2", "-Wall", "-Wextra"]


def say(text):
    print(text, file=sys.stderr, flush=True)


def sources(*folder, suffix=".c"):
    """The files with this suffix in one folder, not below it."""
    path = os.path.join(HERE, *folder)
    return sorted(os.path.join(path, name) for name in os.listdir(path) if name.endswith(suffix))


def protos_of(name):
    """The .proto file, and those of ours that it imports, directly or not."""
    found, wanted = [], [name]
    while wanted:
        name = wanted.pop()
        if name in found:
            continue
        found.append(name)
        with open(os.path.join(ROOT, "Protos", name), encoding="utf-8") as file:
            wanted += re.findall(r'(?m)^import "(widgetd/[^"]+)"', file.read())
    return sorted(found)


def build_c():
    """Compiles the load generator and the floor. Returns their paths."""
    os.makedirs(BUILD, exist_ok=True)
    files = {"loadgen": sources("loadgen") + sources("loadgen", "socket"),
             "floor": sources("floor")}
    binaries = {name: os.path.join(BUILD, name) for name in files}
    for name, inputs in files.items():
        subprocess.run(["gcc", "-std=gnu11", *C_FLAGS, "-o", binaries[name], *inputs], check=True)
    return binaries


def missing_for_grpc():
    """The missing packages of the C++ programs."""
    missing = [name for name in ("g++", "protoc", "grpc_cpp_plugin", "pkg-config")
               if not shutil.which(name)]
    if "pkg-config" not in missing:
        for library in ("grpc++", "protobuf"):
            if subprocess.run(["pkg-config", "--exists", library], check=False).returncode != 0:
                missing.append(library)
    return missing


def pkg_config(*libraries):
    """The flags to compile and link with these."""
    return subprocess.run(["pkg-config", "--cflags", "--libs", *libraries],
                          stdout=subprocess.PIPE, text=True, check=True).stdout.split()


def is_older(path, inputs):
    """Whether the file has to be made again."""
    if not os.path.exists(path):
        return True
    made = os.path.getmtime(path)
    return any(os.path.getmtime(name) > made for name in inputs)


def build_grpc():
    """Makes the load generator on gRPC and the C++ server. Returns their paths, or prints the reason and
    returns None."""
    missing = missing_for_grpc()
    if missing:
        say(f"grpc and grpc-c++ are left out: there is no {', '.join(missing)} "
            f"(apt-get install {GRPC_PACKAGES})")
        return None
    headers = sources("loadgen", suffix=".h") + sources("loadgen", "grpc", suffix=".h")
    generated = os.path.join(BUILD, "protos")
    names = protos_of("widgetd/v1/widget_service.proto")
    protos = [os.path.join(ROOT, "Protos", name) for name in names]
    binaries = {name: os.path.join(BUILD, name) for name in ("loadgen-grpc", "grpc-c++")}

    c_files = sources("loadgen") + sources("loadgen", "grpc")
    loop = sources("loadgen", "grpc", suffix=".cc")
    if is_older(binaries["loadgen-grpc"], [*c_files, *loop, *headers]):
        say("building loadgen-grpc ...")
        objects = os.path.join(BUILD, "loadgen-grpc.objects")
        os.makedirs(objects, exist_ok=True)
        made = []
        for name in c_files:
            made.append(os.path.join(objects, os.path.basename(name) + ".o"))
            subprocess.run(["gcc", "-std=gnu11", *C_FLAGS, "-c", "-o", made[-1], name], check=True)
        subprocess.run(["g++", "-std=c++17", *C_FLAGS, "-o", binaries["loadgen-grpc"], *loop,
                        *made, *pkg_config("grpc++")], check=True)

    server = sources("grpc-c++", suffix=".cc")
    if is_older(binaries["grpc-c++"], [*server, *protos]):
        say("building grpc-c++ ...")
        os.makedirs(generated, exist_ok=True)
        subprocess.run(["protoc", "-I", os.path.join(ROOT, "Protos"), f"--cpp_out={generated}",
                        f"--grpc_out={generated}",
                        f"--plugin=protoc-gen-grpc={shutil.which('grpc_cpp_plugin')}", *names],
                       check=True)
        stubs = [os.path.join(generated, name.replace(".proto", ".pb.cc")) for name in names]
        stubs.append(os.path.join(generated, "widgetd/v1/widget_service.grpc.pb.cc"))
        subprocess.run(["g++", "-std=c++17", *C_FLAGS, "-I", generated, "-o", binaries["grpc-c++"],
                        *server, *stubs, *pkg_config("grpc++", "protobuf")], check=True)
    return binaries


def build_swift(product):
    """Builds a program as a release has it. Returns its path, or None if it does not build."""
    built = subprocess.run([os.path.join(HERE, "build"), product], stdout=subprocess.PIPE, text=True,
                           check=False)
    return built.stdout.strip() if built.returncode == 0 else None


def find_widgetd():
    """Builds the daemon if necessary. Returns its path, or prints the reason and returns None."""
    given = os.environ.get("WIDGETD_BINARY")
    if given:
        if os.access(given, os.X_OK):
            return os.path.abspath(given)
        say(f"widgetd is left out: WIDGETD_BINARY={given} cannot be executed")
        return None
    if not shutil.which("swift"):
        say("widgetd is left out: no swift to build it with, and WIDGETD_BINARY is not set")
        return None
    say("building widgetd (release) ...")
    path = build_swift("widgetd")
    if not path:
        say("widgetd is left out: it does not build")
    return path


def commit():
    """The commit of the sources, with `+` if they were changed since."""
    described = subprocess.run(["git", "describe", "--always", "--abbrev=8", "--exclude=*", "--dirty=+"],
                               cwd=ROOT, capture_output=True, text=True, check=False)
    return described.stdout.strip() or "unknown"
