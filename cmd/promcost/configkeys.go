package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/filter"
	"github.com/promcost/promcost/allocation/pricing"
)

// configKey is a key of the config file, or of a part of it: what it takes, and what reads it into a T.
type configKey[T any] struct {
	name, value, help string
	set               func(*T, *yaml.Node) error
}

// configKeys are the keys of the config file of that name.
func configKeys(file string) []configKey[config] {
	return []configKey[config]{
		{"prices", "keys of a price sheet, or file", "Prices, as in --pricing.file; or file alone, the name of such a file, relative to this one.", func(c *config, n *yaml.Node) error {
			return c.readPrices(file, n)
		}},
		{"currency", "code", "ISO 4217 code of all money. The default is that of the prices, else USD.", func(c *config, n *yaml.Node) error {
			text, err := textOf(n, "currency")
			if err == nil && !pricing.IsCurrency(text) {
				err = atLine(n, "currency is %q, want a code of three letters such as USD", text)
			}
			c.currency = text
			return err
		}},
		{"timeZone", "time zone", "Time zone on whose clock days begin: an IANA name or an offset in quotes.", func(c *config, n *yaml.Node) error {
			text, err := textOf(n, "timeZone")
			if err != nil {
				return err
			}
			if _, err := parseZone(text); err != nil {
				return atLine(n, "timeZone is %q: %w", text, err)
			}
			c.timeZone = text
			return nil
		}},
		{"labelMapping", "keys with labels", "The labels that department, environment, owner, product and team stand for: one, or a list.", readMapping},
		{"properties", "names with expressions", "Further properties of allocations, not of assets, to aggregate by and to filter by: an expression of JMESPath, in Kyverno's dialect, over an allocation's properties and the aliases of labelMapping, such as team: \"labels.team || labels.owner || 'unowned'\" or app: 'labels.\"app.kubernetes.io/name\"'. Names of labels and annotations are found as Kubernetes, Prometheus or kube-state-metrics writes them. One of the name of an alias wins over labelMapping, which its expression still reads.", readProperties},
		{"sharing", "keys below", "Defaults of parameters that share costs.", func(c *config, n *yaml.Node) error {
			return readKeys(&c.sharing, "sharing", n, sharingKeys())
		}},
		{"clusters", "ids with keys below", "What is known of clusters, by their ids.", func(c *config, n *yaml.Node) error {
			return eachKey(n, "clusters", func(id, n *yaml.Node) error {
				var cluster clusterConfig
				err := readKeys(&cluster, "clusters."+id.Value, n, clusterKeys())
				c.clusters[id.Value] = cluster
				return err
			})
		}},
		{"budgets", "list of keys below", "What something may cost in a period.", readBudgets},
		{"selectableFields", "list of keys below", "Fields that field selectors may name, besides those that they may name anyway; at most " + strconv.Itoa(filter.MaxSelectable) + " of a resource.", readSelectable},
	}
}

// readMapping reads what aliases stand for; the others keep their defaults.
func readMapping(c *config, n *yaml.Node) error {
	c.labels = allocation.DefaultLabelMapping()
	known := sortedKeys(c.labels)
	return eachKey(n, "labelMapping", func(alias, n *yaml.Node) error {
		if !slices.Contains(known, alias.Value) {
			return atLine(alias, "unknown key %q in labelMapping: %s", alias.Value, nearOf(alias.Value, known))
		}
		labels, err := textsOf(n, "labelMapping."+alias.Value)
		c.labels[alias.Value] = labels
		c.labelNames = c.labelNames.And(labels...)
		return err
	})
}

// sharingKeys are the keys of sharing: the names and values of the API's parameters.
func sharingKeys() []configKey[sharing] {
	words := func(name, help string, to func(*sharing) *string, words ...string) configKey[sharing] {
		return configKey[sharing]{name, strings.Join(words, ", "), help, func(s *sharing, n *yaml.Node) error {
			text, err := textOf(n, "sharing."+name)
			if err == nil && !slices.Contains(words, text) {
				err = atLine(n, "sharing.%s is %q, want one of %s", name, text, strings.Join(words, ", "))
			}
			*to(s) = text
			return err
		}}
	}
	list := func(name, help string, to func(*sharing) *string, check func(string) bool, want string) configKey[sharing] {
		return configKey[sharing]{name, "list", help, func(s *sharing, n *yaml.Node) error {
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
	return []configKey[sharing]{
		list("shareNamespaces", "Namespaces whose cost all others share.", func(s *sharing) *string { return &s.namespaces }, func(text string) bool { return !strings.ContainsAny(text, ",") }, "give one namespace each"),
		list("shareLabels", "Labels, as KEY:VALUE, of workloads whose cost all others share.", func(s *sharing) *string { return &s.labels }, isLabel, "give KEY:VALUE, such as app:ingress"),
		{"shareCost", "number", "Money per month that all share.", func(s *sharing, n *yaml.Node) error {
			v, err := numberOf(n, "sharing.shareCost")
			s.cost = strconv.FormatFloat(v, 'g', -1, 64)
			return err
		}},
		words("shareSplit", "Share by cost, or evenly.", func(s *sharing) *string { return &s.split }, "weighted", "even"),
		words("shareIdle", "Share what nobody was allocated: not, by cost, or evenly.", func(s *sharing) *string { return &s.idle }, "false", "true", "weighted", "even"),
		words("shareTenancyCosts", "Share what clusters cost besides their nodes.", func(s *sharing) *string { return &s.tenancyCosts }, "true", "false"),
	}
}

// isLabel reports whether text is a KEY:VALUE without a comma, which separates them.
func isLabel(text string) bool {
	key, value, ok := strings.Cut(text, ":")
	return ok && key != "" && value != "" && !strings.Contains(text, ",")
}

func clusterKeys() []configKey[clusterConfig] {
	text := func(name, help string, to func(*clusterConfig) *string) configKey[clusterConfig] {
		return configKey[clusterConfig]{name, "text", help, func(c *clusterConfig, n *yaml.Node) (err error) {
			*to(c), err = textOf(n, name)
			return err
		}}
	}
	return []configKey[clusterConfig]{
		text("name", "Name for people. The default is the id.", func(c *clusterConfig) *string { return &c.name }),
		text("provider", "Provider: aws, gcp, azure, …; where nothing else says it, rules of prices match this one.", func(c *clusterConfig) *string { return &c.provider }),
		text("region", "Region; where nothing else says it, rules of prices match this one.", func(c *clusterConfig) *string { return &c.region }),
	}
}

func budgetKeys() []configKey[budget] {
	return []configKey[budget]{
		{"name", "text", "Name of the budget.", func(b *budget, n *yaml.Node) (err error) {
			b.name, err = textOf(n, "name")
			return err
		}},
		{"filter", "filter", "Which workloads, in the v2 language of filters; of idle they bear what sharing.shareIdle gives them. The default is everything, idle included.", func(b *budget, n *yaml.Node) error {
			text, err := textOf(n, "filter")
			b.filter = text // checked once it is known what filters may name
			return err
		}},
		{"amount", "number", "What it may cost in a period.", func(b *budget, n *yaml.Node) (err error) {
			if b.amount, err = numberOf(n, "amount"); err == nil && b.amount == 0 {
				err = atLine(n, "amount is 0: give what may be spent")
			}
			return err
		}},
		{"period", strings.Join(periods, ", "), "The period.", func(b *budget, n *yaml.Node) (err error) {
			if b.period, err = textOf(n, "period"); err == nil && !slices.Contains(periods, b.period) {
				err = atLine(n, "period is %q, want one of %s", b.period, strings.Join(periods, ", "))
			}
			return err
		}},
	}
}

// readBudgets reads the budgets, each of which has a name of its own, an amount and a period.
func readBudgets(c *config, n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return atLine(n, "budgets is no list: begin each budget with \"- \"")
	}
	for i, item := range n.Content {
		item, what := follow(item), fmt.Sprintf("budgets[%d]", i)
		var b budget
		if err := readKeys(&b, what, item, budgetKeys()); err != nil {
			return err
		}
		if b.name == "" || b.amount == 0 || b.period == "" {
			return atLine(item, "%s lacks a key: give name, amount and period", what)
		}
		if slices.ContainsFunc(c.budgets, func(o budget) bool { return o.name == b.name }) {
			return atLine(item, "%s has the name %q of another: give each its own", what, b.name)
		}
		c.budgets = append(c.budgets, b)
	}
	c.budgetsAt = n.Content
	return nil
}

// readKeys reads the mapping n into to; what names it in errors.
func readKeys[T any](to *T, what string, n *yaml.Node, rows []configKey[T]) error {
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = rows[i].name
	}
	return eachKey(n, what, func(key, n *yaml.Node) error {
		i := slices.Index(names, key.Value)
		if i < 0 {
			return atLine(key, "unknown key %q in %s: %s", key.Value, what, nearOf(key.Value, names))
		}
		return rows[i].set(to, n)
	})
}

// eachKey calls read for the keys of the mapping n, called what in errors.
func eachKey(n *yaml.Node, what string, read func(key, value *yaml.Node) error) error {
	if n = follow(n); n.Kind != yaml.MappingNode {
		return atLine(n, "%s is not made of keys with values", what)
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if line, ok := seen[key.Value]; ok {
			return atLine(key, "key %q of %s is there twice, first on line %d: keep one", key.Value, what, line)
		}
		seen[key.Value] = key.Line
		if err := read(key, follow(n.Content[i+1])); err != nil {
			return err
		}
	}
	return nil
}

// nearOf says what to use in place of an unknown key.
func nearOf(key string, known []string) string {
	if near := allocation.Nearest(key, known); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "use " + strings.Join(known, ", ")
}

// atLine is an error about the line of n.
func atLine(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %w", n.Line, fmt.Errorf(format, args...))
}

// follow is the node that an alias stands for, or n.
func follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// textOf reads a text, which is not empty.
func textOf(n *yaml.Node, what string) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" {
		return "", atLine(n, "%s is no text: give one, or leave the key out", what)
	}
	return n.Value, nil
}

// textsOf reads a text or a list of them.
func textsOf(n *yaml.Node, what string) ([]string, error) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		text, err := textOf(n, what)
		return []string{text}, err
	}
	texts := make([]string, 0, len(n.Content))
	for _, item := range n.Content {
		text, err := textOf(follow(item), what)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// numberOf reads a number, which is finite and not negative.
func numberOf(n *yaml.Node, what string) (float64, error) {
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, atLine(n, "%s is %q, want a number of 0 or more", what, n.Value)
	}
	return v, nil
}
