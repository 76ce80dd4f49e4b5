package pricing

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/allocation/rates"
)

// Limits of values. A value beyond them is a mistake, and could overflow computations.
const (
	maxPrice      = 1e9
	maxMultiplier = 1000
	// Multipliers from these on, up or down, are none that is negotiated.
	highMultiplier = 10
	lowMultiplier  = 0.1
)

// setter reads the value of one key into a rule, or into the sheet.
type setter struct {
	key  string
	want string // what a value is: number, a text, …
	help string
	set  func(r *rule, line int, text string) error
}

// sectionSetters returns the setters for rules of a list, without labels.
func (p *parser) sectionSetters(id sectionID) []setter {
	var setters []setter
	for a := range attributes {
		if attribute(a).allowed(id) {
			setters = append(setters, p.attributeSetter(attribute(a)))
		}
	}
	if id == nodeSection {
		setters = append(setters, p.spotSetter(), p.billedBySetter(), p.gpuExtraSetter(), p.discountSetter())
	}
	setters = append(setters, p.multiplierSetter(), p.timeSetter("from"), p.timeSetter("to"))
	return append(setters, p.priceSetters(priceKeys(inSection(id)))...)
}

func (p *parser) attributeSetter(a attribute) setter {
	return setter{attributes[a].key, "a text", attributes[a].help, func(r *rule, line int, text string) error {
		if a == providerID {
			path := rates.MachinePath(text)
			if path == "" || strings.HasSuffix(path, "/") || strings.HasSuffix(path, "*") {
				return p.fail(line, "%s is %q, which names no machine: give an id such as aws:///eu-central-1a/i-0123 or i-0123, without *", attributes[a].key, text)
			}
			text = path
		}
		if text != "*" { // which is as good as nothing
			r.texts[a] = text
		}
		return nil
	}}
}

func (p *parser) spotSetter() setter {
	return p.boolSetter("spot", "Spot nodes alone, or others alone.", func(r *rule, v bool) { r.spot = &v })
}

func (p *parser) gpuExtraSetter() setter {
	return p.boolSetter("gpuExtra", "The rule's price of GPUs comes on top of the price of a whole node, which is then without them.", func(r *rule, v bool) { r.gpuExtra = v })
}

func (p *parser) boolSetter(key, help string, set func(r *rule, v bool)) setter {
	return setter{key, "true or false", help, func(r *rule, line int, text string) error {
		v := strings.EqualFold(text, "true")
		if !v && !strings.EqualFold(text, "false") {
			return p.fail(line, "%s is %q, want true or false", key, text)
		}
		set(r, v)
		return nil
	}}
}

func (p *parser) billedBySetter() setter {
	return setter{"billedBy", "pods", "Nodes that cost what their pods do, with no idle cost: virtual nodes and GKE Autopilot.", func(r *rule, line int, text string) error {
		if r.byPods = text == "pods"; !r.byPods {
			return p.fail(line, "billedBy is %q, want pods", text)
		}
		return nil
	}}
}

// discountSetter reads the discount of a rule, or of the sheet where there is no rule.
func (p *parser) discountSetter() setter {
	return setter{"discount", "number", "Fraction of 1 that is taken off CPU and RAM of nodes.", func(r *rule, line int, text string) error {
		v, err := p.number("discount", line, text)
		switch {
		case err != nil:
			return err
		case v > 1:
			return p.fail(line, "discount is %s: give a fraction of 1, such as 0.15 for 15 percent", text)
		case v == 1:
			p.remark(line, "discount is 1: CPU and RAM of nodes cost nothing by it, check it")
		}
		if r == nil {
			p.sheet.discount = v
		} else {
			r.discount = &v
		}
		return nil
	}}
}

// multiplierSetter reads the multiplier of a rule, or of the sheet where there is no rule.
func (p *parser) multiplierSetter() setter {
	return setter{"multiplier", "number", "What prices are multiplied by.", func(r *rule, line int, text string) error {
		v, err := p.number("multiplier", line, text)
		switch {
		case err != nil:
			return err
		case v == 0 || v > maxMultiplier:
			return p.fail(line, "multiplier is %s: give a number above 0 and at most %d, such as 0.85", text, maxMultiplier)
		case v >= highMultiplier || v <= lowMultiplier:
			p.remark(line, "multiplier is "+text+": prices are multiplied by it, check it")
		}
		if r == nil {
			p.sheet.multiplier = v
		} else {
			r.multiplier = &v
		}
		return nil
	}}
}

// timeSetter returns the setter for the begin or end of a rule's validity.
func (p *parser) timeSetter(key string) setter {
	help := map[string]string{"from": "First instant at which the rule holds.", "to": "First instant at which it does not any more."}[key]
	return setter{key, "a date or time", help, func(r *rule, line int, text string) error {
		t, err := p.time(key, line, text)
		if err != nil {
			return err
		}
		if r.dated = true; key == "from" {
			r.from = t.UnixMilli()
		} else {
			r.to = t.UnixMilli()
		}
		return nil
	}}
}

// sheetSetters are what the sheet as a whole may have.
func (p *parser) sheetSetters() []setter {
	return []setter{
		{"currency", "a code such as USD", "ISO 4217 code of the prices.", func(_ *rule, line int, text string) error {
			if !IsCurrency(text) {
				return p.fail(line, "currency is %q, want a code of three letters such as USD", text)
			}
			p.sheet.currency = text
			return nil
		}},
		{"asOf", "a date or time", "When the prices were looked up; else the file's time tells their age.", func(_ *rule, line int, text string) (err error) {
			p.sheet.asOf, err = p.time("asOf", line, text)
			return err
		}},
		p.multiplierSetter(), p.discountSetter(),
	}
}

// IsCurrency reports whether text has the form of an ISO 4217 code, such as USD.
func IsCurrency(text string) bool {
	return len(text) == 3 && !strings.ContainsFunc(text, func(c rune) bool { return c < 'A' || c > 'Z' })
}

// priceSetters read prices by their keys.
func (p *parser) priceSetters(keys []priceKey) []setter {
	setters := make([]setter, 0, len(keys))
	for _, k := range keys {
		setters = append(setters, setter{k.name, "number", k.help(), func(r *rule, line int, text string) error {
			v, err := p.number(k.name, line, text)
			switch {
			case err != nil:
				return err
			case v > maxPrice:
				return p.fail(line, "%s is %s: no price is above %.0e, give it in the unit that the key names", k.name, text, maxPrice)
			case r.named.has(k.price):
				return p.fail(line, "%s gives a price that is there already for another length of time: keep one", k.name)
			case v == 0 && (k.price == cpuPrice || k.price == spotCPUPrice):
				p.remark(line, k.name+" is 0: what it prices costs nothing, check it")
			}
			r.named |= 1 << k.price
			r.price[k.price] = k.perHour(v)
			p.noted = append(p.noted, noted{line, k, v})
			return nil
		}})
	}
	return setters
}

// number reads a number, which is finite and not negative.
func (p *parser) number(key string, line int, text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil, math.IsNaN(v), math.IsInf(v, 0):
		return 0, p.fail(line, "%s is %q, want a finite decimal number such as 0.03", key, text)
	case v < 0 || math.Signbit(v):
		return 0, p.fail(line, "%s is negative (%s): give 0 or more", key, text)
	}
	return v, nil
}

// time reads a date, which begins at midnight UTC, or an RFC 3339 time.
func (p *parser) time(key string, line int, text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, p.fail(line, "%s is %q, want a date such as 2026-01-31 or a time such as 2026-01-31T00:00:00+01:00", key, text)
}

// noted is a price as it was given.
type noted struct {
	line int
	key  priceKey
	v    float64
}

// remark is a warning about a line.
type remark struct {
	line int
	text string
}

// remark records a warning about a line.
func (p *parser) remark(line int, text string) { p.remarks = append(p.remarks, remark{line, text}) }

// suspicions returns the recorded warnings, and those about prices that look as if they were for another unit, in the order of
// lines.
func (p *parser) suspicions() []string {
	unlike := p.compareWithList()
	for _, n := range p.noted {
		reference := n.key.price.reference(p.sheet.currency) * max(n.key.hours, 1)
		part, dear := n.v/reference, float64(rates.UnusuallyDear)
		if n.key.price == machinePrice {
			dear *= 10 // those with many GPUs
		}
		remedy := "check its unit"
		stem, hourly := strings.CutSuffix(n.key.name, "Hour")
		switch {
		case n.key.price == machinePrice && unlike[n.line]:
			continue
		case part > dear && hourly:
			remedy = "did you mean " + stem + "Month?"
		case n.key.hours > 1 && n.v > 0 && part < rates.UnusuallyCheap:
			remedy = "did you mean " + strings.TrimSuffix(n.key.name, "Month") + "Hour?"
		case part <= dear:
			continue
		}
		p.remark(n.line, n.key.name+" of "+number(n.v)+" is "+number(part)+" times what is usual: "+remedy)
	}
	slices.SortStableFunc(p.remarks, func(a, b remark) int { return cmp.Compare(a.line, b.line) })
	var out []string
	for _, r := range p.remarks {
		out = append(out, p.sheet.name+": line "+strconv.Itoa(r.line)+": "+r.text)
	}
	return out
}

// compareWithList records warnings about prices of whole nodes that are as far from what is listed for the type as a month is from an hour. It
// returns their lines.
func (p *parser) compareWithList() map[int]bool {
	unlike := map[int]bool{}
	for i := range p.sheet.sections[nodeSection].rules {
		r := &p.sheet.sections[nodeSection].rules[i]
		if !r.named.has(machinePrice) || r.texts[instanceType] == "" {
			continue
		}
		list := listprices.Embedded()
		if cmp.Or(p.sheet.currency, rates.Dollar) != list.Currency() {
			break
		}
		// Of the providers with a list, Amazon's machines have such names.
		listed, ok := list.Price(listprices.Machine{
			Provider: cmp.Or(strings.ToLower(r.texts[provider]), "aws"), Region: r.texts[region], InstanceType: r.texts[instanceType], Spot: r.spot != nil && *r.spot,
		})
		if !ok {
			continue
		}
		text := "a whole " + r.texts[instanceType] + " costs " + number(r.price[machinePrice]) + " an hour, about "
		against := listed.Text(list.Name(), r.texts[region]) + " have (" + number(listed.PerHour) + "): "
		switch v := r.price[machinePrice]; {
		case rates.Alike(v, listed.PerHour*hoursPerMonth):
			text += "730 times what " + against + "did you mean nodePerMonth?"
		case rates.Alike(v*hoursPerMonth, listed.PerHour):
			text += "a 730th of what " + against + "did you mean nodePerHour?"
		default:
			continue
		}
		p.remark(r.line, text)
		unlike[r.line] = true
	}
	return unlike
}

// number is a number for people, in three digits.
func number(v float64) string {
	if v >= 100 && v < 1e6 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
