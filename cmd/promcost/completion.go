package main

import (
	"context"
	"fmt"
	"text/template"

	"github.com/alecthomas/kingpin/v2"
)

// defineCompletion is the completion subcommand.
func defineCompletion(clause *kingpin.CmdClause, io streams, _ *logFlags) executor {
	shells := map[string]string{"bash": bashCompletion, "zsh": kingpin.ZshCompletionTemplate, "fish": fishCompletion}
	var shell string
	clause.Arg("shell", "bash, zsh or fish. In bash: source <(promcost completion bash). In fish: promcost completion fish | source. In zsh, write it as _promcost into a directory of $fpath.").
		Required().EnumVar(&shell, sortedKeys(shells)...)
	return func(context.Context) error {
		page, err := template.New(shell).Parse(shells[shell])
		if err != nil {
			return fmt.Errorf("make completions: %w", err)
		}
		var about struct{ App struct{ Name string } }
		about.App.Name = "promcost"
		return page.Execute(io.raw, about)
	}
}

// bashCompletion is the template of the completions for bash: kingpin's, but offers a word once, and values of flags after an = as well: bash takes that for a word of its own.
const bashCompletion = `
_{{.App.Name}}_bash_autocomplete() {
    local cur word words=()
    COMPREPLY=()
    cur="${COMP_WORDS[COMP_CWORD]}"
    for word in "${COMP_WORDS[@]:1:$COMP_CWORD}"; do
        [[ $word == = ]] || words+=("$word")
    done
    [[ $cur == = ]] && cur="" && words+=("")
    COMPREPLY=( $(compgen -W "$( ${COMP_WORDS[0]} --completion-bash "${words[@]}" | sort -u )" -- "$cur") )
    return 0
}
complete -F _{{.App.Name}}_bash_autocomplete -o default {{.App.Name}}

`

// fishCompletion is the template of the completions for fish, in which a flag and its value are one word: the program is asked for them as two.
const fishCompletion = `function __{{.App.Name}}_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l flag (string match -r -- '^--[^=]+=' $current)
    set -l value (string replace -r -- '^--[^=]+=' '' $current)
    if test -n "$flag"
        set words $words (string trim -r -c = -- $flag)
    end
    for word in ($words[1] --completion-bash $words[2..-1] $value | sort -u)
        echo $flag$word
    end
end
complete -c {{.App.Name}} -a '(__{{.App.Name}}_complete)'
`
