package kubectl

import (
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// passed are the flags that kubectl gets as they are: they choose the cluster and the user.
var passed = []struct{ name, placeholder, help string }{
	{"kubeconfig", "FILE", "The kubeconfig file to use."},
	{"context", "NAME", "The context of the kubeconfig file."},
	{"cluster", "NAME", "The cluster of the kubeconfig file."},
	{"user", "NAME", "The user of the kubeconfig file."},
	{"as", "USER", "User to impersonate, such as jane or system:serviceaccount:shop:dev."},
	{"as-group", "GROUP", "Group to impersonate. Repeatable."},
	{"request-timeout", "DURATION", "How long kubectl waits for an answer, such as 30s. 0 for any time."},
}

// DefaultSelector are the labels of the Service that promcost manifests makes.
const DefaultSelector = "app.kubernetes.io/name=promcost,app.kubernetes.io/component=server"

// Flags say how to call kubectl, and which Service to ask.
type Flags struct {
	program, namespace, service, selector string
	passed                                [][]string // the values of each of the passed flags
}

// AddFlags adds the flags to a subcommand.
func AddFlags(clause *kingpin.CmdClause) *Flags {
	f := &Flags{passed: make([][]string, len(passed))}
	clause.Flag("kubectl", "The kubectl to run.").Default("kubectl").StringVar(&f.program)
	for i, p := range passed {
		clause.Flag(p.name, p.help).PlaceHolder(p.placeholder).StringsVar(&f.passed[i])
	}
	clause.Flag("namespace", "Namespace of promcost's Service. All are searched where none is given.").Short('n').PlaceHolder("NAME").StringVar(&f.namespace)
	clause.Flag("selector", "Labels of promcost's Service.").Short('l').Default(DefaultSelector).StringVar(&f.selector)
	clause.Flag("service", "Name of promcost's Service, where its labels are others; SCHEME:NAME:PORT with --namespace is not looked up, so that it takes no right to list Services.").
		PlaceHolder("NAME").StringVar(&f.service)
	return f
}

// isWhole reports whether the flags name the Service with its scheme and port.
func (f *Flags) isWhole() bool { return strings.Count(f.service, ":") == 2 }

// args are the passed flags as arguments of kubectl.
func (f *Flags) args() (args []string) {
	for i, values := range f.passed {
		for _, value := range values {
			args = append(args, "--"+passed[i].name+"="+value)
		}
	}
	return args
}
