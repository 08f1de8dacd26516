# SPDX-License-Identifier: Apache-2.0
# bash completion for the programs of XSched

_xsched_words()
{
    # shellcheck disable=SC2207
    COMPREPLY=($(compgen -W "$1" -- "$2"))
    # an option that takes its value after = wants no space
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}

_xsched_files()
{
    # shellcheck disable=SC2207
    COMPREPLY=($(compgen -f -- "$1"))
}

_xsched_policies="HPF HHPF CHPF UP PUP SPUP KEDF LAX AWF CFS MLFQ"
_xsched_run_options="--priority= --utilization= --deadline= --laxity= --timeslice= --level= --threshold= --batch= --group=
    --intra --memory= --filter= --local-policy= --no-server --idle-exit= --socket= --quiet --help-env --help --usage"
_xsched_trace_options="--output= --summary= --quiet --help --usage"
_xsched_cdi_options="--output= --device= --kind= --socket-folder= --help --usage"
_xsched_record_options="--output= --duration= --format= --max-events= --socket= --quiet --help --usage"
_xserver_options="--config= --http= --idle-exit= --log-file= --log-level= --operator-group= --policy= --port=
    --socket= --starvation-ms= --timeslice-us= --tune= --help --usage --version"
_xsched_doctor_options="--probe --json --help --usage"

# Completes the value of --option=VALUE, for which bash hands over "--option" "=" "VALUE", or of --option VALUE.
_xsched_value()
{
    case $1 in
        --level | -l) _xsched_words "1 2 3 auto" "$2" ;;
        --format | -f) _xsched_words "chrome replay" "$2" ;;
        --local-policy) _xsched_words "$_xsched_policies" "$2" ;;
        --socket | -S | --output | -o | --summary) _xsched_files "$2" ;;
        *) COMPREPLY=() ;;
    esac
}

_xsched()
{
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} options="" i
    COMPREPLY=()

    if [[ $COMP_CWORD -eq 1 ]]; then
        _xsched_words "run trace record doctor cdi --help --version" "$current"
        return
    fi
    if [[ $current == "=" ]]; then
        _xsched_value "$previous" ""
        return
    fi
    if [[ $previous == "=" ]]; then
        _xsched_value "${COMP_WORDS[COMP_CWORD - 2]}" "$current"
        return
    fi
    if [[ $command == doctor ]]; then
        if [[ $current == -* ]]; then
            _xsched_words "$_xsched_doctor_options" "$current"
        else
            _xsched_words "$(cd /proc 2>/dev/null && compgen -G '[0-9]*')" "$current"
        fi
        return
    fi
    case $command in
        run) options=$_xsched_run_options ;;
        trace) options=$_xsched_trace_options ;;
        record) options=$_xsched_record_options ;;
        cdi) options=$_xsched_cdi_options ;;
    esac
    # behind "--" or the first word that is no option, everything is the program's
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            --) i=$((i + 1)); break ;;
            "=") i=$((i + 1)) ;;
            -[pudxstblSofmk]) i=$((i + 1)) ;;
            --*) [[ $options == *"${COMP_WORDS[i]}="* && ${COMP_WORDS[i + 1]} != "=" ]] && i=$((i + 1)) ;;
            -*) ;;
            *) break ;;
        esac
    done
    if ((i > COMP_CWORD)); then
        _xsched_value "$previous" "$current"
        return
    fi
    if ((i < COMP_CWORD)) || [[ $current != -* ]]; then
        if declare -F _command_offset >/dev/null; then
            _command_offset "$((i < COMP_CWORD ? i : COMP_CWORD))"
        elif ((i < COMP_CWORD)); then
            _xsched_files "$current"
        else
            # shellcheck disable=SC2207
            COMPREPLY=($(compgen -c -- "$current"))
        fi
        return
    fi
    _xsched_words "$options" "$current"
}

_xcli()
{
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command="" i
    COMPREPLY=()

    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            list | top | config | policy | hint | status | suspend | resume) command=${COMP_WORDS[i]}; break ;;
        esac
    done
    if [[ $previous == "=" || $current == "=" ]]; then
        [[ $current == "=" ]] && current="" || previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    case $previous in
        -n | --name) [[ $command == policy ]] && _xsched_words "$_xsched_policies" "$current" && return ;;
        -s | --sort) [[ $command == top ]] && _xsched_words "share wait preemptions priority pid commands command" "$current" && return ;;
        -l | --level) [[ $command == config ]] && _xsched_words "1 2 3" "$current" && return ;;
        --socket) _xsched_files "$current"; return ;;
    esac
    case $command in
        "") _xsched_words "list top config policy hint status suspend resume --addr= --port= --socket= --token= --json
                --help --usage --version" "$current" ;;
        list) _xsched_words "--ended --json --help --usage --version" "$current" ;;
        top) _xsched_words "--fps= --count= --batch --once --queues --sort= --reverse --filter= --help --usage --version" "$current" ;;
        config) _xsched_words "--xqueue= --level= --threshold= --batch= --help --usage --version" "$current" ;;
        policy) _xsched_words "--query --set --name= --help --usage --version" "$current" ;;
        hint) _xsched_words "--xqueue= --pid= --priority= --utilization= --timeslice= --deadline= --laxity= --lax-priority=
                --critical-priority= --k= --help --usage --version" "$current" ;;
        suspend | resume) _xsched_words "--pid= --help --usage --version" "$current" ;;
        status) _xsched_words "--help --usage --version" "$current" ;;
    esac
}

_xsched_window()
{
    local current=${COMP_WORDS[COMP_CWORD]} i
    COMPREPLY=()

    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == run ]]; then
            if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); else _xsched_files "$current"; fi
            return
        fi
    done
    _xsched_words "monitor run --display= --socket= --set-policy --idle-exit= --once --quiet --help --usage" "$current"
}

_xserver()
{
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()

    if [[ $previous == "=" || $current == "=" ]]; then
        [[ $current == "=" ]] && current="" || previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    case $previous in
        --policy) _xsched_words "$_xsched_policies" "$current" ;;
        --log-level) _xsched_words "DEBG INFO WARN ERRO OFF" "$current" ;;
        --http) _xsched_words "ON OFF" "$current" ;;
        --config | --socket | --log-file) _xsched_files "$current" ;;
        *)
            if [[ $current == -* ]]; then
                _xsched_words "$_xserver_options" "$current"
            else
                _xsched_words "$_xsched_policies" "$current"
            fi
            ;;
    esac
}

_xsched_sim()
{
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()

    if [[ $previous == "=" || $current == "=" ]]; then
        [[ $current == "=" ]] && current="" || previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    case $previous in
        -p | --policy) _xsched_words "$_xsched_policies" "$current" ;;
        *)
            if [[ $current != -* ]]; then
                _xsched_files "$current"
            elif [[ ${COMP_WORDS[0]} == *replay ]]; then
                _xsched_words "--json --policy= --help --usage" "$current"
            else
                _xsched_words "--device= --json --native --policy= --param= --queue= --process= --seed= --duration= --help --usage" "$current"
            fi
            ;;
    esac
}

_xsched_bench()
{
    local current=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()

    case ${COMP_WORDS[COMP_CWORD - 1]} in
        --only) _xsched_words "A B C D E F G H I J K M submit instructions idle decision decision-64 decision-expected decision-10000 python-block start scrape opencl" "$current" ;;
        --platforms) _xsched_words "cuda hip opencl fake" "$current" ;;
        --out | --build | --python | --report | --check | --merge) _xsched_files "$current" ;;
        *) _xsched_words "--list --only --variants --platforms --peer --tune --quick --smoke --requests --blocks --fresh --no-fresh --free-starts --clocks
            --seconds --seed --out --save --resume --time-limit --build --python --no-report --report --check --merge --append --shield
            --help" "$current" ;;
    esac
}

_xsched_verify_hip()
{
    local current=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()

    case ${COMP_WORDS[COMP_CWORD - 1]} in
        --root | --out | --python | --runtime) _xsched_files "$current" ;;
        *)
            if [[ $current == -* ]]; then
                _xsched_words "--root --out --python --runtime --seconds --help" "$current"
            else
                _xsched_words "system doctor runtimes copies order probe torch" "$current"
            fi
            ;;
    esac
}

complete -F _xsched xsched
complete -F _xsched_verify_hip xsched-verify-hip
complete -F _xsched_bench xsched-bench
complete -F _xsched_window xsched-window
complete -F _xcli xcli
complete -F _xserver xserver
complete -F _xsched_sim xsched-sim xsched-replay
