package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
)

// key is a row of a table of keys: what the key takes, and the function that reads it into a T.
type key[T any] struct {
	name, value, help string
	set               func(*T, *yaml.Node) error
}

// Key is a key of the config file as a reference of it shows it.
type Key struct {
	Name  string // with the keys that it stands below
	Value string // its values
	Help  string
}

// Keys are the keys of the config file.
func Keys() []Key {
	return slices.Concat(described("", fileKeys("")), described("sharing.", sharingKeys()), described("clusters.ID.", clusterKeys()),
		described("budgets[].", budgetKeys()), described("bills[].", billKeys("")), described("questions[].", questionKeys()), described("views[].", viewKeys()), described("selectableFields[].", selectableKeys()))
}

// described are rows as Keys, below a prefix.
func described[T any](prefix string, rows []key[T]) []Key {
	list := make([]Key, len(rows))
	for i, row := range rows {
		list[i] = Key{prefix + row.name, row.value, row.help}
	}
	return list
}

// fileKeys are the top keys of the config file of that name.
func fileKeys(file string) []key[File] {
	return []key[File]{
		{"prices", "keys of a price sheet, or file", "Prices, as in --pricing.file; or file alone, the name of such a file, relative to this one.", func(f *File, n *yaml.Node) error {
			return f.readPrices(file, n)
		}},
		{"currency", "code", "ISO 4217 code of all money. The default is that of the prices, else USD.", (*File).readCurrency},
		{"timeZone", "time zone", "Time zone on whose clock days begin: an IANA name or an offset in quotes.", (*File).readZone},
		{"labelMapping", "keys with labels", "The labels that department, environment, owner, product and team stand for: one, or a list.", (*File).readMapping},
		{"properties", "names with expressions", "Further properties of allocations, not of assets, to aggregate by and to filter by: an expression of JMESPath, in Kyverno's dialect, over an allocation's properties and the aliases of labelMapping, such as team: \"labels.team || labels.owner || 'unowned'\" or app: 'labels.\"app.kubernetes.io/name\"'. Names of labels and annotations are found as Kubernetes, Prometheus or kube-state-metrics writes them. One of the name of an alias wins over labelMapping, which its expression still reads.", (*File).readProperties},
		{"gpuResources", "list", "Extended resources of containers and nodes that are GPUs or the like, besides those of NVIDIA and AMD, such as google.com/tpu or example.com/*: they cost what a GPU does.", (*File).readGPUResources},
		{"sharing", "keys below", "Defaults of parameters that share costs.", func(f *File, n *yaml.Node) error {
			return readKeys(&f.Sharing, "sharing", n, sharingKeys())
		}},
		{"clusters", "ids with keys below", "What is known of clusters, by their ids.", func(f *File, n *yaml.Node) error {
			return eachKey(n, "clusters", func(id, n *yaml.Node) error {
				var cluster Cluster
				err := readKeys(&cluster, "clusters."+id.Value, n, clusterKeys())
				f.Clusters[id.Value] = cluster
				return err
			})
		}},
		{"budgets", "list of keys below", "What something may cost in a period.", (*File).readBudgets},
		{"bills", "list of keys below", "Bills of providers and vendors, in FOCUS. What they charge for the same account and billing period counts once, from the first of them.", (*File).readBills},
		{"billsInterval", "duration", "How often files of bills are looked for; also when the config file is read again. The default is 1h.", (*File).readBillsInterval},
		{"questions", "list of keys below", "Questions that are asked again and again, by name: /model/questions lists them, and kubectl gets their answers as clusterallocations.", (*File).readQuestions},
		{"views", "list of keys below", "Views of the page that everybody has, by name. The page begins with the first.", (*File).readViews},
		{"selectableFields", "list of keys below", "Fields that field selectors may name, besides those that they may name anyway; at most " + strconv.Itoa(filter.MaxSelectable) + " of a resource.", (*File).readSelectable},
	}
}

// readMapping reads the labels that aliases stand for. Aliases that the file does not name keep their defaults.
func (f *File) readMapping(n *yaml.Node) error {
	f.Labels = allocation.DefaultLabelMapping()
	known := slices.Sorted(maps.Keys(f.Labels))
	return eachKey(n, "labelMapping", func(alias, n *yaml.Node) error {
		if !slices.Contains(known, alias.Value) {
			return atLine(alias, "unknown key %q in labelMapping: %s", alias.Value, nearOf(alias.Value, known))
		}
		labels, err := textsOf(n, "labelMapping."+alias.Value)
		f.Labels[alias.Value] = labels
		f.LabelNames = f.LabelNames.And(labels...)
		return err
	})
}

// sharingKeys are the keys of sharing: the names and values of the API's parameters.
func sharingKeys() []key[Sharing] {
	words := func(name, help string, to func(*Sharing) *string, words ...string) key[Sharing] {
		return key[Sharing]{name, strings.Join(words, ", "), help, func(s *Sharing, n *yaml.Node) error {
			text, err := textOf(n, "sharing."+name)
			if err == nil && !slices.Contains(words, text) {
				err = atLine(n, "sharing.%s is %q, want one of %s", name, text, strings.Join(words, ", "))
			}
			*to(s) = text
			return err
		}}
	}
	list := func(name, help string, to func(*Sharing) *string, check func(string) bool, want string) key[Sharing] {
		return key[Sharing]{name, "list", help, func(s *Sharing, n *yaml.Node) error {
			texts, err := textsOf(n, "sharing."+name)
			for _, text := range texts {
				if !check(text) {
					return atLine(n, "sharing.%s has %q: %s", name, text, want)
				}
			}
			*to(s) = strings.Join(texts, ",")
			return err
		}}
	}
	return []key[Sharing]{
		list("shareNamespaces", "Namespaces whose cost all others share.", func(s *Sharing) *string { return &s.Namespaces }, func(text string) bool { return !strings.ContainsAny(text, ",") }, "give one namespace each"),
		list("shareLabels", "Labels, as KEY:VALUE, of workloads whose cost all others share.", func(s *Sharing) *string { return &s.Labels }, isLabel, "give KEY:VALUE, such as app:ingress"),
		{"shareCost", "number", "Money per month that all share.", func(s *Sharing, n *yaml.Node) error {
			v, err := numberOf(n, "sharing.shareCost")
			s.Cost = strconv.FormatFloat(v, 'g', -1, 64)
			return err
		}},
		words("shareSplit", "Share by cost, or evenly.", func(s *Sharing) *string { return &s.Split }, "weighted", "even"),
		words("shareIdle", "Share what nobody was allocated: not, by cost, or evenly.", func(s *Sharing) *string { return &s.Idle }, "false", "true", "weighted", "even"),
		words("shareTenancyCosts", "Also share control-plane and node-disk costs.", func(s *Sharing) *string { return &s.TenancyCosts }, "true", "false"),
	}
}

// isLabel reports whether text is a KEY:VALUE without a comma, which separates them.
func isLabel(text string) bool {
	key, value, ok := strings.Cut(text, ":")
	return ok && key != "" && value != "" && !strings.Contains(text, ",")
}

func clusterKeys() []key[Cluster] {
	text := func(name, help string, to func(*Cluster) *string) key[Cluster] {
		return key[Cluster]{name, "text", help, func(c *Cluster, n *yaml.Node) (err error) {
			*to(c), err = textOf(n, name)
			return err
		}}
	}
	return []key[Cluster]{
		text("name", "Name for people. The default is the id.", func(c *Cluster) *string { return &c.Name }),
		text("provider", "Provider: aws, gcp, azure, …; where nothing else says it, rules of prices match this one.", func(c *Cluster) *string { return &c.Provider }),
		text("region", "Region; where nothing else says it, rules of prices match this one.", func(c *Cluster) *string { return &c.Region }),
	}
}

func budgetKeys() []key[Budget] {
	return []key[Budget]{
		{"name", "text", "Name of the budget.", func(b *Budget, n *yaml.Node) (err error) {
			b.Name, err = textOf(n, "name")
			return err
		}},
		{"filter", "filter", "Which workloads, in the v2 language of filters; of idle they bear what sharing.shareIdle gives them. The default is everything, idle included.", func(b *Budget, n *yaml.Node) error {
			text, err := textOf(n, "filter")
			b.Filter = text // checked once it is known what filters may name
			return err
		}},
		{"amount", "number", "What it may cost in a period.", func(b *Budget, n *yaml.Node) (err error) {
			if b.Amount, err = numberOf(n, "amount"); err == nil && b.Amount == 0 {
				err = atLine(n, "amount is 0: give what may be spent")
			}
			return err
		}},
		{"period", strings.Join(periods, ", "), "The period.", func(b *Budget, n *yaml.Node) (err error) {
			if b.Period, err = textOf(n, "period"); err == nil && !slices.Contains(periods, b.Period) {
				err = atLine(n, "period is %q, want one of %s", b.Period, strings.Join(periods, ", "))
			}
			return err
		}},
		{"cost", strings.Join(budgetCosts, ", "), "Which costs count: at list prices (the default), or by bill as far as bills reach, and after that as the last billed days let one estimate.", func(b *Budget, n *yaml.Node) (err error) {
			if b.Cost, err = textOf(n, "cost"); err == nil && !slices.Contains(budgetCosts, b.Cost) {
				err = atLine(n, "cost is %q, want one of %s", b.Cost, strings.Join(budgetCosts, ", "))
			}
			return err
		}},
	}
}
