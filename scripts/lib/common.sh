# The common functions of scripts/run and scripts/test. Bash sources this file, with the repository as the
# current folder.

# The Debian packages for a build.
build_packages=(libprotobuf-c-dev libsqlite3-dev libarchive-dev libsystemd-dev libyaml-dev pkg-config)
# More packages for the tests.
test_packages=(protobuf-compiler protobuf-c-compiler libprotobuf-dev golang-go
  golang-github-containerd-ttrpc-dev gogoprotobuf python3 python3-venv gcc libc6-dev make binutils
  dbus-daemon python3-dbus python3-gi scdoc debhelper dpkg-dev fakeroot lintian systemd procps tzdata iproute2
  iputils-ping man-db sway waybar grim i3-wm i3blocks polybar yambar tmux valgrind xvfb xdotool fonts-dejavu-core)

say() { printf '%s\n' "$*"; }

# The flags of a release. Package.swift has more flags for its linker. All symbols are bound when a program
# starts, so that the table of symbols can be read-only (full RELRO). Nothing is exported, all declarations are internal to
# the program, and each function has a section, so that the linker leaves out unused functions. The code and its
# libraries do not check that accesses to memory exclude each other. Debug builds have these checks, and all tests
# use debug builds. Without the checks, a read takes 12 % fewer instructions.
release_flags=(-c release --static-swift-stdlib -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now
  -Xlinker --no-export-dynamic -Xswiftc -enforce-exclusivity=unchecked
  -Xswiftc -Xfrontend -Xswiftc -internalize-at-link -Xswiftc -Xfrontend -Xswiftc -function-sections)

# Adds flags that need gcc and Python, so call this after `need_packages`. Of Swift's static libraries, the linker
# leaves out unused functions too. The part of libstdc++ that Swift's runtime needs is small, and loading all of it
# takes a tenth of a start.
add_release_flags() {
  local archive libraries=$PWD/.build/collectable
  command -v python3 >/dev/null || die "there is no python3; install the package python3"
  scripts/lib/collectable "$libraries" || die "cannot copy Swift's static libraries; see above"
  release_flags+=(-Xlinker "--remap-inputs-file=$libraries/inputs")
  archive=$(gcc -print-file-name=libstdc++.a 2>/dev/null) || return 0
  [ ! -f "$archive" ] || release_flags+=(-Xlinker "--remap-inputs=*/libstdc++.so=$archive")
}

# Prints the reason for the failure, and ends the script.
die() {
  printf '%s: %s\n' "$program" "$*" >&2
  exit 1
}

# Installs the missing packages. If none is missing, it does nothing.
need_packages() {
  command -v dpkg-query >/dev/null || {
    say "This is not Debian, so the script cannot install packages. These packages must exist: $*"
    return
  }
  local missing=() name
  for name in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] ||
      missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local command=(apt-get install -y --no-install-recommends "${missing[@]}") as_root=()
  if [ "$(id -u)" != 0 ]; then
    as_root=(sudo)
    command -v sudo >/dev/null ||
      die "these packages are missing and there is no sudo; run as root: ${command[*]}"
    [ -t 0 ] || sudo -n true 2>/dev/null ||
      die "these packages are missing and sudo wants a password; run: sudo ${command[*]}"
  fi
  say "Installing ${missing[*]} ..."
  export DEBIAN_FRONTEND=noninteractive
  { "${as_root[@]}" apt-get update -q && "${as_root[@]}" "${command[@]}"; } >/dev/null ||
    die "apt-get failed; run as root: ${command[*]}"
}

# Runs a command of Swift in a TMPDIR that is removed, because such commands leave folders there.
tidily() (
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/widgetd-build.XXXXXX") || exit
  trap 'rm -rf "$scratch"' EXIT
  TMPDIR=$scratch "$@"
)

need_swift() {
  command -v swift >/dev/null ||
    die "there is no swift; install Swift 6.2 or later from https://www.swift.org/install/linux"
  local version
  version=$(tidily swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p')
  case $version in
    [0-5].* | 6.[01]) die "this is Swift $version; 6.2 or later is needed" ;;
  esac
}

# Ends a process of this script, first with SIGTERM and then with SIGKILL, and waits for its end.
end_process() {
  local pid=$1 patience=${2:-50}
  kill "$pid" 2>/dev/null || return 0
  while [ "$patience" -gt 0 ] && kill -0 "$pid" 2>/dev/null; do
    sleep 0.1
    patience=$((patience - 1))
  done
  kill -9 "$pid" 2>/dev/null
  wait "$pid" 2>/dev/null
  return 0
}
