# Completion of faina for bash, printed by: faina completion bash
#
# `faina complete-word` answers what can be typed. The first line of its answer says how to complete.

# Files (-f) or folders (-d), after the prefix $2.
_faina_paths()
{
    local IFS=$'\n'

    compopt -o filenames 2> /dev/null
    COMPREPLY=($(compgen "$1" -P "$2" -- "${cur#"$2"}"))
}

# Sets COMPREPLY to the completions of $cur, which comes after $words.
_faina_offer()
{
    local kind prefix offer

    {
        read -r kind prefix
        case $kind in
            files) _faina_paths -f "$prefix" ;;
            folders) _faina_paths -d "" ;;
            *)
                [[ $kind == prefixes ]] && compopt -o nospace 2> /dev/null
                while IFS=$'\t' read -r offer _; do
                    [[ $offer == "$cur"* ]] && COMPREPLY+=("$offer")
                done
                ;;
        esac
    } < <(command "${1/#\~\//$HOME/}" complete-word "${words[@]}" "$cur" 2> /dev/null)
}

# bash splits words at @, : and =, and replaces only $2, which may begin after one of them. So the
# words are joined again, and the part before $2 is removed from the completions.
_faina()
{
    local line=$COMP_LINE cur kept flag="" word i
    local -a words=()

    COMPREPLY=()
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if ((${#words[@]} == 0)) || [[ $line == [[:space:]]* ]]; then
            words+=("$word")
        else
            words[${#words[@]} - 1]+=$word
        fi
        line=${line#"${line%%[![:space:]]*}"}
        line=${line#"$word"}
    done
    cur=${words[${#words[@]} - 1]#[\"\']}
    words=("${words[@]:1:${#words[@]}-2}")
    kept=${cur%"$2"}
    kept=${kept//\\/}
    cur=${cur//\\/}
    if [[ $cur == --*=* ]]; then
        words+=("${cur%%=*}")
        flag=${cur%%=*}=
        cur=${cur#*=}
    fi
    _faina_offer "$1"
    for i in "${!COMPREPLY[@]}"; do
        word=$flag${COMPREPLY[i]}
        word=${word#"$kept"}
        if [[ $word == @* && -d ${word#@} ]]; then
            word+=/
            compopt -o nospace 2> /dev/null
        fi
        COMPREPLY[i]=$word
    done
}

complete -F _faina faina
