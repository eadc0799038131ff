# Completion of faina for bash, printed by: faina completion bash

# Files (-f) or folders (-d), after the prefix $2.
_faina_paths()
{
    local IFS=$'\n'

    compopt -o filenames 2> /dev/null
    COMPREPLY=($(compgen "$1" -P "$2" -- "${cur#"$2"}"))
}

_faina_json()
{
    [[ $cur == @* ]] && _faina_paths -f @
}

_faina_url()
{
    case $cur in
        sqlite:*) _faina_paths -f sqlite: ;;
        unix:*) _faina_paths -f unix: ;;
        *)
            compopt -o nospace 2> /dev/null
            COMPREPLY=($(compgen -W "sqlite: postgres:// http:// https:// unix: memory:" -- "$cur"))
            ;;
    esac
}

# Sets COMPREPLY to the completions of $cur.
_faina_offer()
{
    local verb="" firsts="" flags=""

    for ((i = 1; i + 1 < ${#words[@]}; i++)); do
        word=${words[i]}
        case $word in
            --output|-o|--url|--namespace|--name|--priority|-p|--delay|--run-at|--key|-k|--dedupe|--max-attempts|--max-retries|--retry|--resource|-r|--depends-on|--metadata|-m|--spec|--team|--created-by|--timeout|--type|-t|--status|-s|--parent|--after|--before|--limit|-n|--cursor|--attempt|--interval|--worker|-w|--types|-t|--services|--lease|--fence|--if-version|--error|-e|--kind|--detail|--state|--reason|--concurrency|-c|--service|--handlers|--grace|--idle-exit|--keep-completed|--keep-failed|--keep-events|--archive|--timezone|--catch-up|--overlap|--jitter|--count|-n|--id|--match|--data|--last|--scope|--expires|--listen|-l|--workers|--host|--tls-cert|--tls-key|--input-max|--types-max|--connections|--connections-per-client|--waits-per-client|--drain|--older-than) ((i++)) ;;
            -*) ;;
            *)
                case $verb in
                    "") verb=$word ;;
                    resource|team|cron|workflow|token|db) verb="$verb $word" ;;
                esac
                ;;
        esac
    done

    if [[ $cur == -* ]]; then
        case $verb in
            "submit") flags="--name --priority --delay --run-at --key --dedupe --max-attempts --max-retries --retry --resource --depends-on --metadata --spec --team --created-by --wait --timeout --bulk --output --url --namespace --help" ;;
            "get") flags="--key --type --output --url --namespace --help" ;;
            "ls") flags="--status --type --team --parent --created-by --key --after --before --limit --cursor --all --output --url --namespace --help" ;;
            "children") flags="--limit --cursor --output --url --namespace --help" ;;
            "events") flags="--limit --output --url --namespace --help" ;;
            "logs") flags="--attempt --output --url --namespace --help" ;;
            "result") flags="--output --url --namespace --help" ;;
            "wait") flags="--timeout --output --url --namespace --help" ;;
            "watch") flags="--status --type --team --parent --limit --interval --output --url --namespace --help" ;;
            "explain") flags="--output --url --namespace --help" ;;
            "claim") flags="--worker --types --services --limit --lease --wait --timeout --output --url --namespace --help" ;;
            "start") flags="--worker --fence --if-version --lease --output --url --namespace --help" ;;
            "complete") flags="--worker --fence --if-version --output --url --namespace --help" ;;
            "fail") flags="--error --kind --detail --permanent --worker --fence --if-version --output --url --namespace --help" ;;
            "progress") flags="--state --metadata --worker --fence --if-version --output --url --namespace --help" ;;
            "heartbeat") flags="--worker --fence --lease --output --url --namespace --help" ;;
            "block") flags="--fail-fast --worker --fence --if-version --output --url --namespace --help" ;;
            "background") flags="--reason --timeout --worker --fence --if-version --output --url --namespace --help" ;;
            "release") flags="--worker --fence --if-version --output --url --namespace --help" ;;
            "worker") flags="--concurrency --types --services --service --handlers --worker --lease --grace --idle-exit --keep-completed --keep-failed --keep-events --archive --no-archive --output --url --namespace --help" ;;
            "cancel") flags="--all --status --type --yes --if-version --output --url --namespace --help" ;;
            "retry") flags="--keep-attempts --all --status --type --yes --if-version --output --url --namespace --help" ;;
            "rm") flags="--purge --cancel --all --status --type --yes --if-version --output --url --namespace --help" ;;
            "pause") flags="--output --url --namespace --help" ;;
            "resume") flags="--output --url --namespace --help" ;;
            "resource ls") flags="--output --url --namespace --help" ;;
            "resource set") flags="--output --url --namespace --help" ;;
            "resource rm") flags="--output --url --namespace --help" ;;
            "team ls") flags="--output --url --namespace --help" ;;
            "team get") flags="--output --url --namespace --help" ;;
            "team create") flags="--spec --output --url --namespace --help" ;;
            "team set") flags="--name --spec --output --url --namespace --help" ;;
            "team rm") flags="--output --url --namespace --help" ;;
            "cron ls") flags="--output --url --namespace --help" ;;
            "cron set") flags="--timezone --catch-up --overlap --jitter --paused --name --priority --delay --max-attempts --retry --resource --metadata --output --url --namespace --help" ;;
            "cron pause") flags="--output --url --namespace --help" ;;
            "cron resume") flags="--output --url --namespace --help" ;;
            "cron rm") flags="--output --url --namespace --help" ;;
            "cron run") flags="--output --url --namespace --help" ;;
            "cron next") flags="--count --timezone --output --url --namespace --help" ;;
            "worker-list") flags="--output --url --namespace --help" ;;
            "emit") flags="--id --output --url --namespace --help" ;;
            "workflow ls") flags="--output --url --namespace --help" ;;
            "workflow get") flags="--output --url --namespace --help" ;;
            "workflow apply") flags="--output --url --namespace --help" ;;
            "workflow rm") flags="--output --url --namespace --help" ;;
            "workflow enable") flags="--output --url --namespace --help" ;;
            "workflow disable") flags="--output --url --namespace --help" ;;
            "workflow joins") flags="--key --output --url --namespace --help" ;;
            "workflow test") flags="--match --data --last --output --url --namespace --help" ;;
            "workflow why") flags="--output --url --namespace --help" ;;
            "token create") flags="--scope --expires --name --output --url --namespace --help" ;;
            "token ls") flags="--output --url --namespace --help" ;;
            "token revoke") flags="--force --output --url --namespace --help" ;;
            "serve") flags="--listen --workers --no-ui --insecure --host --tls-cert --tls-key --input-max --types-max --connections --connections-per-client --waits-per-client --drain --keep-completed --keep-failed --keep-events --archive --no-archive --print-api --output --url --namespace --help" ;;
            "stats") flags="--output --url --namespace --help" ;;
            "db status") flags="--output --url --namespace --help" ;;
            "db migrate") flags="--dry-run --output --url --namespace --help" ;;
            "db copy") flags="--output --url --namespace --help" ;;
            "db purge") flags="--older-than --status --type --deleted --yes --output --url --namespace --help" ;;
            "backup") flags="--force --output --url --namespace --help" ;;
            "restore") flags="--output --url --namespace --help" ;;
            "bench") flags="--help" ;;
            "doctor") flags="--output --url --namespace --help" ;;
            "version") flags="--output --url --namespace --help" ;;
            "completion") flags="--output --url --namespace --help" ;;
            "help") flags="--output --url --namespace --help" ;;
        esac
        COMPREPLY=($(compgen -W "$flags" -- "$cur"))
        return
    fi

    case $prev in
        --output|-o)
            COMPREPLY=($(compgen -W "table json jsonl" -- "$cur"))
            return
            ;;
        --dedupe)
            COMPREPLY=($(compgen -W "input" -- "$cur"))
            return
            ;;
        --status|-s)
            COMPREPLY=($(compgen -W "pending claimed running blocked background completed failed dead_letter cancelled" -- "$cur"))
            return
            ;;
        --catch-up)
            COMPREPLY=($(compgen -W "none one all" -- "$cur"))
            return
            ;;
        --overlap)
            COMPREPLY=($(compgen -W "allow skip cancel" -- "$cur"))
            return
            ;;
        --scope)
            COMPREPLY=($(compgen -W "read view submit work operate admin" -- "$cur"))
            return
            ;;
        --bulk|--tls-cert|--tls-key)
            _faina_paths -f
            return
            ;;
        --handlers|--archive)
            _faina_paths -d
            return
            ;;
        --metadata|-m|--spec|--detail|--data)
            _faina_json
            return
            ;;
        --url)
            _faina_url
            return
            ;;
        --output|-o|--url|--namespace|--name|--priority|-p|--delay|--run-at|--key|-k|--dedupe|--max-attempts|--max-retries|--retry|--resource|-r|--depends-on|--metadata|-m|--spec|--team|--created-by|--timeout|--type|-t|--status|-s|--parent|--after|--before|--limit|-n|--cursor|--attempt|--interval|--worker|-w|--types|-t|--services|--lease|--fence|--if-version|--error|-e|--kind|--detail|--state|--reason|--concurrency|-c|--service|--handlers|--grace|--idle-exit|--keep-completed|--keep-failed|--keep-events|--archive|--timezone|--catch-up|--overlap|--jitter|--count|-n|--id|--match|--data|--last|--scope|--expires|--listen|-l|--workers|--host|--tls-cert|--tls-key|--input-max|--types-max|--connections|--connections-per-client|--waits-per-client|--drain|--older-than) return ;;
    esac

    case $verb in
        "submit")
            _faina_json
            return
            ;;
        "complete")
            _faina_json
            return
            ;;
        "block")
            _faina_json
            return
            ;;
        "cron set")
            _faina_json
            return
            ;;
        "emit")
            _faina_json
            return
            ;;
        "workflow apply")
            _faina_paths -f
            return
            ;;
        "workflow test")
            _faina_paths -f
            return
            ;;
        "db copy")
            _faina_url
            return
            ;;
        "backup")
            _faina_paths -f
            return
            ;;
        "restore")
            _faina_paths -f
            return
            ;;
    esac
    case $verb in
        ""|help)
            firsts="submit get ls children events logs result wait watch explain claim start complete fail progress heartbeat block background release worker cancel retry rm pause resume resource team cron worker-list emit workflow token serve stats db backup restore bench doctor version completion help"
            ;;
        resource) firsts="ls set rm" ;;
        team) firsts="ls get create set rm" ;;
        cron) firsts="ls set pause resume rm run next" ;;
        workflow) firsts="ls get apply rm enable disable joins test why" ;;
        token) firsts="create ls revoke" ;;
        db) firsts="status migrate copy purge" ;;
        "completion") firsts="bash zsh fish" ;;
    esac
    COMPREPLY=($(compgen -W "$firsts" -- "$cur"))
}

_faina()
{
    local line=$COMP_LINE cur prev kept flag="" word i
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
    ((${#words[@]} > 1)) && prev=${words[${#words[@]} - 2]}
    kept=${cur%"$2"}
    kept=${kept//\\/}
    cur=${cur//\\/}
    if [[ $cur == --*=* ]]; then
        prev=${cur%%=*}
        flag=$prev=
        cur=${cur#*=}
    fi
    _faina_offer
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
