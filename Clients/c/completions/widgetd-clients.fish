# Completions of widgetd-send and widgetd-watch for fish.

function __widgetd_ids
    widgetd-watch --once --field id --timeout 1s 2>/dev/null | sed -n 's/.*"id":"\([^"]*\)".*/\1/p'
end

for program in widgetd-send widgetd-watch
    complete -c $program -f -a '(__widgetd_ids)'
    complete -c $program -l socket -r -F -d "The daemon's socket"
    complete -c $program -l timeout -x -d 'Give up after this long'
    complete -c $program -l version -d 'Print the version'
    complete -c $program -s h -l help -d 'Print the help'
end
complete -c widgetd-send -l node -x -d 'The node of the event'
complete -c widgetd-send -l value -x -d 'The value of an input of the form'
complete -c widgetd-send -l force -d 'Send even to a hidden or disabled widget'
complete -c widgetd-send -l request-id -x -d 'Id for a safe retry'
complete -c widgetd-watch -s l -l selector -x -d 'Only widgets with these labels'
complete -c widgetd-watch -l kind -x -d 'Only widgets of this kind'
complete -c widgetd-watch -l family -x -a 'small medium large extra-large inline circular rectangular' -d 'Only widgets of this family'
complete -c widgetd-watch -l where -x -d 'Only widgets for which this expression is true'
complete -c widgetd-watch -l field -x -d 'Only this field of each widget'
complete -c widgetd-watch -l once -d 'Print the existing widgets, and end'
complete -c widgetd-watch -l events -d 'Also print events'
complete -c widgetd-watch -l redacted -d 'Leave out private nodes and data'
complete -c widgetd-watch -l min-interval -x -d 'Minimum time between two lines of changes'
complete -c widgetd-watch -l wait -d 'With --once, wait for the daemon'
