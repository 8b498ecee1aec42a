# bash completion of kdiag:  source <(kdiag completion bash)

_kdiag_completion() {
    local line="${COMP_LINE:0:COMP_POINT}" word cut="" value
    # bash breaks words at colons and equal signs, kdiag does not: what stands before the last of
    # them is completed already.
    word="${line##*[[:space:]]}"
    [[ $word == --*=* ]] && word="${word#*=}"
    [[ $COMP_WORDBREAKS == *:* && $word == *:* ]] && cut="${word%:*}:"
    COMPREPLY=()
    while IFS=$'\t' read -r value _; do
        [[ -n $value ]] || continue
        value="${value#"$cut"}"
        # Between quotes, as SQL is, a value stands as it is.
        [[ ${COMP_WORDS[COMP_CWORD]-} == [\"\']* ]] || printf -v value %q "$value"
        COMPREPLY+=("$value")
    done < <(_KDIAG_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args \
        _TYPER_COMPLETE_ARGS="$line" "$1" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

complete -o default -F _kdiag_completion kdiag
