package imported

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/promcost/promcost/allocation/coverage"
	"github.com/promcost/promcost/allocation/listprices"
	"github.com/promcost/promcost/allocation/rates"
)

// maxPrice is what no price is above.
const maxPrice = 1e9

// foreignSigns are of currencies other than dollars.
const foreignSigns = "€£¥₹₩₽₺₪₫฿"

// price reads a price, which may have a dollar sign and blanks.
func (o *Options) price(text string) (float64, error) {
	digits := strings.TrimSpace(text)
	if strings.ContainsAny(digits, foreignSigns) {
		return 0, fmt.Errorf("%q is not in dollars: remove the sign, and give the currency of all prices with --currency", text)
	}
	if rest, ok := strings.CutPrefix(digits, "$"); ok {
		if o.Currency != "" && !strings.HasSuffix(o.Currency, "D") {
			return 0, fmt.Errorf("%q has a dollar sign, but --currency is %s: nothing is converted", text, o.Currency)
		}
		digits = strings.TrimSpace(rest)
	}
	return number(digits)
}

// number reads a number that is not negative, and no larger than a price may be.
func number(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case text == "":
		return 0, errors.New("there is none: give a number such as 0.03")
	case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
		return 0, fmt.Errorf("%q is no number: give one such as 0.03", text)
	case v < 0 || math.Signbit(v):
		return 0, fmt.Errorf("%s is negative: give 0 or more", text)
	case v > maxPrice:
		return 0, fmt.Errorf("%s is too large: no price is above %.0e", text, maxPrice)
	}
	return v, nil
}

// guess is the unit of a price that costs usually so much an hour, Unknown where it is like neither that nor so much a month.
func guess(v, usual float64) Unit {
	switch {
	case rates.Alike(v, usual):
		return Hourly
	case rates.Alike(v, usual*coverage.MonthHours):
		return Monthly
	}
	return Unknown
}

// checkUnit compares prices of machines with what providers list. It is for files that do not say for what time prices are, and are taken to be for an
// hour.
func (p *Prices) checkUnit() error {
	list := listprices.Embedded()
	if p.currency != "" && p.currency != list.Currency() {
		return nil
	}
	for i := range p.rules[nodes] {
		r := &p.rules[nodes][i]
		if listed, ok := list.Price(r.machine); ok && r.stem == nodeStem && guess(r.price, listed.PerHour) == Monthly {
			return fmt.Errorf("%s: a whole %s costs %s an hour, about %d times what %s have (%s): give --monthly if prices are for a month, or --hourly if they are right",
				r.place, r.machine.InstanceType, decimal(r.price), int(coverage.MonthHours), listed.Text(list.Name(), r.machine.Region), decimal(listed.PerHour))
		}
	}
	return nil
}

// nodeStem begins the keys of prices of whole nodes.
const nodeStem = "nodePer"

// scale is how many units of a currency are about a dollar.
func scale(currency string) float64 {
	return rates.ReferenceItem(rates.ItemLoadBalancer, currency) / rates.ReferenceItem(rates.ItemLoadBalancer, rates.Dollar)
}
