# fish completion of kdiag:  kdiag completion fish > ~/.config/fish/completions/kdiag.fish

function __kdiag_complete
    set -l token (commandline -ct)
    set -l option (string match -r '^--[^=]*=' -- $token)
    test -n "$option"; or set option ''  # an empty list would leave nothing of a product
    set -l found (env _KDIAG_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args \
        _TYPER_COMPLETE_ARGS=(commandline -cp) (commandline -opc)[1] 2>/dev/null)
    if test -n "$found"
        printf '%s\n' $option$found
    else
        __fish_complete_path $token
    end
end

complete --command kdiag --no-files --arguments '(__kdiag_complete)'
