_dpbench() {
  local IFS=$'\n'
  # `=` and `,` stay inside a word, so that experiment=gs/fi<TAB> completes.
  local line="${COMP_LINE:0:COMP_POINT}"
  local current="${line##* }"
  COMPREPLY=($(python -m dpbench completion words "$line" 2>/dev/null))
  local cut="${current%"${current##*[=:]}"}"
  case "$current" in  # bash treats a quoted word as one word, without its quote
    \'*|\"*) cut="${current:0:1}" ;;
  esac
  COMPREPLY=("${COMPREPLY[@]#"$cut"}")
}
_dpbench_python() {
  if [[ "$COMP_LINE" =~ ^[^\ ]+\ +-m\ +dpbench\  ]]; then
    compopt -o nospace
    _dpbench
  fi
}
complete -o nospace -F _dpbench dpbench
complete -o default -o bashdefault -F _dpbench_python python python3
