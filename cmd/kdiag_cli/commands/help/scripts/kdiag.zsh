#compdef kdiag
# zsh completion of kdiag:  source <(kdiag completion zsh), or a file _kdiag in $fpath

_kdiag() {
    local line
    local -a values texts open
    for line in "${(@f)$(_KDIAG_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args \
        _TYPER_COMPLETE_ARGS="${(j: :)words[1,CURRENT-1]} $PREFIX" $words[1] 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        if [[ $line == *: ]]; then
            open+=("$line")
        else
            values+=("${line%%$'\t'*}")
            texts+=("${line/$'\t'/  -- }")
        fi
    done
    compset -P '--*='
    (( $#open )) && compadd -S '' -a open
    if (( $#values )); then
        compadd -l -d texts -a values
    elif (( ! $#open )); then
        _files
    fi
}

if [[ $funcstack[1] == _kdiag ]]; then
    _kdiag "$@"
else
    compdef _kdiag kdiag
fi
