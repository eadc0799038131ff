# Completion of faina for fish, printed by: faina completion fish
#
# `faina complete-word` answers what can be typed. The first line of its answer says how to complete.

function __faina_offers
    set -l before (commandline -opc)
    set -l word (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $before[1])
    set -l flag (string match -r -- '^--[^=]+=' $word)

    set -e before[1]
    if test -n "$flag"
        set -a before (string trim -r -c = -- $flag)
        set word (string replace -- "$flag" '' $word)
    end
    set -l lines (command $program complete-word $before "$word" 2>/dev/null)
    set -l kind (string split -m 1 ' ' -- "$lines[1]")
    switch "$kind[1]"
        case files
            set -l path (string sub -s (math (string length -- "$kind[2]") + 1) -- "$word")
            for found in (__fish_complete_path "$path")
                echo "$flag$kind[2]$found"
            end
        case folders
            for found in (__fish_complete_directories "$word")
                echo "$flag$found"
            end
        case '*'
            set -e lines[1]
            for line in $lines
                echo "$flag$line"
            end
    end
end

complete -c faina -f -a '(__faina_offers)'
