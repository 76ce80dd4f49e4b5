package manifests

import (
	"fmt"
	"os"
	"strconv"

	"github.com/alecthomas/kingpin/v2"
)

// Given are values as a file and flags give them, the flags over the file.
type Given struct {
	Values  *Values
	file    string
	changes []func() error // by flags, in their order
}

// AddFlags adds a flag for the file of values, for each field of values that has one, and for each flag of the program that
// passes and that the objects do not set by themselves.
func AddFlags(clause *kingpin.CmdClause, v *Values, p *Program, pass func(flag string) bool) *Given {
	g := &Given{Values: v}
	clause.Flag("values", "YAML file with values, in the form of the chart's values.yaml. Flags win over it.").PlaceHolder("FILE").StringVar(&g.file)
	for _, field := range v.Fields() {
		if field.Flag != "" {
			g.addField(clause, field)
		}
	}
	for _, flag := range p.Flags {
		switch {
		case isOwned(flag.Name) && clause.GetFlag(flag.Name) == nil:
			g.refuseFlag(clause, flag)
		case pass(flag.Name) && !isOwned(flag.Name):
			g.addFlag(clause, flag)
		}
	}
	return g
}

// change is a flag that changes values once the file is read.
type change struct {
	given    *Given
	text     string
	isSwitch bool
	repeats  bool
	apply    func(text string) error
}

// String is the text that the flag was given.
func (c *change) String() string { return c.text }

// IsBoolFlag reports whether the flag takes no value.
func (c *change) IsBoolFlag() bool { return c.isSwitch }

// IsCumulative reports whether the flag may be given several times.
func (c *change) IsCumulative() bool { return c.repeats }

// Set takes a text that the flag is given.
func (c *change) Set(text string) error {
	c.text = text
	c.given.changes = append(c.given.changes, func() error { return c.apply(text) })
	return nil
}

func (g *Given) addField(clause *kingpin.CmdClause, field Field) {
	flag, c := clause.Flag(field.Flag, field.Help), &change{given: g}
	switch v := field.Value.(type) {
	case *string:
		flag.PlaceHolder(strconv.Quote(*v)).HintOptions(field.Enum()...)
		c.apply = func(text string) error {
			*v = text
			return nil
		}
	case *int:
		flag.PlaceHolder(strconv.Itoa(*v))
		c.apply = func(text string) (err error) {
			if *v, err = strconv.Atoi(text); err != nil {
				return fmt.Errorf("parse --%s=%q: it must be a whole number", field.Flag, text)
			}
			return nil
		}
	case *bool:
		c.isSwitch = true
		c.apply = func(text string) error {
			*v = text == "true"
			return nil
		}
	}
	flag.SetValue(c)
}

// refuseFlag has a flag that the objects set by themselves say what to give instead.
func (g *Given) refuseFlag(clause *kingpin.CmdClause, flag Flag) {
	instead := owned[flag.Name]
	for _, f := range g.Values.Fields() {
		if f.Path == instead {
			instead = f.Flag
		}
	}
	err := fmt.Errorf("--%s is set by the objects themselves: use --%s", flag.Name, instead)
	if key := secretKeys[flag.Name]; key != "" {
		err = fmt.Errorf("--%s names a file, which no pod has: put it under the key %s into a Secret, and name that by --%s", flag.Name, key, instead)
	}
	clause.Flag(flag.Name, flag.Help).Hidden().SetValue(&change{given: g, isSwitch: flag.Switch, repeats: true, apply: func(string) error { return err }})
}

func (g *Given) addFlag(clause *kingpin.CmdClause, flag Flag) {
	var texts []any // of a flag that repeats
	clause.Flag(flag.Name, flag.Help).SetValue(&change{given: g, isSwitch: flag.Switch, repeats: flag.Repeats, apply: func(text string) error {
		var value any = text
		switch {
		case flag.Switch:
			value = text == "true"
		case flag.Repeats:
			texts = append(texts, text)
			value = texts
		}
		if g.Values.Flags == nil {
			g.Values.Flags = map[string]any{}
		}
		g.Values.Flags[flag.Name] = value
		return nil
	}})
}

// Complete reads the file and applies the flags.
func (g *Given) Complete() error {
	if g.file != "" {
		text, err := os.ReadFile(g.file)
		if err == nil {
			err = g.Values.Read(text)
		}
		if err != nil {
			return fmt.Errorf("read --values %s: %w: give YAML in the form of the chart's values.yaml", g.file, err)
		}
	}
	for _, apply := range g.changes {
		if err := apply(); err != nil {
			return err
		}
	}
	return nil
}
