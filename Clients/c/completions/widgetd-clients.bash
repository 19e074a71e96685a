# Completions of widgetd-send and widgetd-watch for bash.

_widgetd_ids() {
  local socket=() word
  for ((word = 1; word < COMP_CWORD; word++)); do
    [[ ${COMP_WORDS[word]} != --socket ]] || socket=(--socket "${COMP_WORDS[word + 1]}")
  done
  widgetd-watch --once --field id --timeout 1s "${socket[@]}" 2>/dev/null |
    sed -n 's/.*"id":"\([^"]*\)".*/\1/p'
}

_widgetd_clients() {
  local word=${COMP_WORDS[COMP_CWORD]} options words
  case ${COMP_WORDS[COMP_CWORD - 1]} in
    --socket) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    --family) words='small medium large extra-large inline circular rectangular' ;;
    --node | --value | --timeout | --request-id | --selector | -l | --kind | --where | --field | \
      --min-interval) return ;;
  esac
  if [[ $1 == *send ]]; then
    options='--node --value --force --socket --timeout --request-id --version --help'
  else
    options='--selector --kind --family --where --field --once --events --redacted
      --min-interval --wait --socket --timeout --version --help'
  fi
  if [[ -z ${words-} ]]; then
    if [[ $word == -* ]]; then words=$options; else words=$(_widgetd_ids); fi
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -F _widgetd_clients widgetd-send widgetd-watch
