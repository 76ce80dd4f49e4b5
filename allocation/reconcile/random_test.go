package reconcile_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/allocation/passes"
)

// slot is the shortest time that the random clusters know: all edges of windows are at slots.
const slot = 30 * time.Minute

// ledger is a Ledger over clusters that are known slot by slot: the set of a window is merged from its slots.
type ledger struct {
	start time.Time
	slots []*allocation.Set
}

func (l *ledger) at(t time.Time) int {
	return max(0, min(len(l.slots), int(t.Sub(l.start)/slot)))
}

// set is the set of a window.
func (l *ledger) set(w allocation.Window) (*allocation.Set, error) {
	slots := l.slots[l.at(w.Start):l.at(w.End)]
	if len(slots) == 0 {
		return allocation.NewSet(w, l.slots[0].Dict()), nil
	}
	return passes.Merge(w, slots)
}

func (l *ledger) Sets(_ context.Context, q allocation.Query) iter.Seq2[*allocation.Set, error] {
	return func(yield func(*allocation.Set, error) bool) {
		windows, err := q.Windows()
		if err != nil {
			yield(nil, err)
			return
		}
		for _, w := range windows {
			if set, err := l.set(w); !yield(set, err) || err != nil {
				return
			}
		}
	}
}

// life is a stretch of slots.
type life struct{ from, to int }

func (l life) has(slot int) bool { return l.from <= slot && slot < l.to }

func randomLife(rng *rand.Rand, slots int) life {
	if rng.IntN(2) == 0 {
		return life{0, slots}
	}
	from := rng.IntN(slots)
	return life{from, from + 1 + rng.IntN(slots-from)}
}

// machine is a node, with its own disk if it has one.
type machine struct {
	life
	node  allocation.Node
	price [allocation.NumResources]float64 // a slot
	disk  float64                          // price of its own disk; negative if it has none
}

// workload is a container, with the volumes that it mounts and the load balancers that it is behind.
type workload struct {
	life
	row       allocation.Row
	node      int
	volumes   []int
	balancers []int
	traffic   bool
}

// storage is a volume, or with hours a load balancer.
type storage struct {
	life
	disk     allocation.Disk
	balancer allocation.LoadBalancer
	price    float64 // a slot
}

// clusters are random clusters, slot by slot.
type clusters struct {
	rng       *rand.Rand
	names     []string
	machines  []machine
	workloads []workload
	volumes   []storage
	balancers []storage
	fees      map[string]float64 // management, by cluster
}

func newClusters(rng *rand.Rand, slots int) *clusters {
	c := &clusters{rng: rng, names: []string{"east", "arn:aws:eks:eu-1:222:cluster/west", "north"}, fees: map[string]float64{"east": 0.05}}
	for i := range 6 {
		c.addMachine(i, c.names[i%3], randomLife(rng, slots))
	}
	// Another node takes the name of one that is gone.
	gone, after := &c.machines[0], c.machines[0]
	gone.life, after.life = life{0, slots / 3}, life{slots / 2, slots}
	after.node.ProviderID += "9"
	c.machines = append(c.machines, after)
	for i := range 6 {
		c.addStorage(i, c.names[i%3], slots)
	}
	for i := range 14 {
		c.addWorkload(i, slots)
	}
	return c
}

// providerID is an id of a node as its provider's instances have them.
func providerID(cluster, name string, i int) string {
	switch cluster {
	case "east":
		return fmt.Sprintf("aws:///eu-1a/i-%d", i)
	case "north":
		return "gce://project-n/zone-1/" + name
	}
	return fmt.Sprintf("azure:///subscriptions/s-1/resourceGroups/rg/providers/Microsoft.Compute/virtualMachineScaleSets/pool/virtualMachines/%d", i)
}

func (c *clusters) addMachine(i int, cluster string, l life) {
	m := machine{life: l, disk: []float64{-1, 0, 0.01}[c.rng.IntN(3)]}
	m.node = allocation.Node{Cluster: cluster, Name: fmt.Sprintf("node-%d", i), InstanceType: []string{"large", "small"}[i/3], Spot: i%2 == 1}
	m.node.ProviderID = providerID(cluster, m.node.Name, i)
	if c.rng.IntN(6) > 0 { // else it is free
		m.price = [allocation.NumResources]float64{c.rng.Float64(), c.rng.Float64(), float64(c.rng.IntN(2))}
	}
	c.machines = append(c.machines, m)
}

func (c *clusters) addStorage(i int, cluster string, slots int) {
	price := float64(c.rng.IntN(3)) * c.rng.Float64() // some are free
	c.volumes = append(c.volumes, storage{life: randomLife(c.rng, slots), price: price, disk: allocation.Disk{
		Cluster: cluster, Name: fmt.Sprintf("pv-%d", i), ProviderID: volumeHandle(cluster, i), StorageClass: []string{"fast", "slow"}[i/3],
	}})
	c.balancers = append(c.balancers, storage{life: randomLife(c.rng, slots), price: 0.01 + c.rng.Float64(), balancer: allocation.LoadBalancer{
		Cluster: cluster, Namespace: "web", Service: fmt.Sprintf("lb-%d", i), IP: fmt.Sprintf("a%d-77.elb.eu-1.amazonaws.com", i%4), // some share one
	}})
}

func volumeHandle(cluster string, i int) string {
	switch cluster {
	case "east":
		return fmt.Sprintf("vol-%d", i)
	case "north":
		return fmt.Sprintf("projects/project-n/zones/zone-1/disks/pvc-%d", i)
	}
	return fmt.Sprintf("/subscriptions/s-1/resourceGroups/rg/providers/Microsoft.Compute/disks/pvc-%d", i)
}

func (c *clusters) addWorkload(i, slots int) {
	node := c.rng.IntN(len(c.machines))
	m := &c.machines[node]
	w := workload{node: node, traffic: m.node.Cluster != "north" && c.rng.IntN(2) == 0} // north exports no traffic
	w.from = m.from + c.rng.IntN(m.to-m.from)
	w.to = w.from + 1 + c.rng.IntN(m.to-w.from)
	w.row.Text[allocation.Cluster], w.row.Text[allocation.NodeName], w.row.Text[allocation.ProviderID] = m.node.Cluster, m.node.Name, m.node.ProviderID
	w.row.Text[allocation.Namespace], w.row.Text[allocation.Pod], w.row.Text[allocation.Container] = []string{"shop", "web"}[i%2], fmt.Sprintf("pod-%d", i), "main"
	w.row.Text[allocation.PodUID] = fmt.Sprintf("uid-%d", i)
	for k := range c.volumes {
		if c.volumes[k].disk.Cluster == m.node.Cluster && c.rng.IntN(2) == 0 {
			w.volumes = append(w.volumes, k)
		}
		if c.balancers[k].balancer.Cluster == m.node.Cluster && c.rng.IntN(2) == 0 {
			w.balancers = append(w.balancers, k)
		}
	}
	c.workloads = append(c.workloads, w)
}

// ledger computes the slots from start on.
func (c *clusters) ledger(start time.Time, slots int) *ledger {
	l := &ledger{start: start}
	dict := allocation.NewDict()
	for i := range slots {
		from := start.Add(time.Duration(i) * slot)
		l.slots = append(l.slots, c.slot(i, allocation.Window{Start: from, End: from.Add(slot)}, dict))
	}
	return l
}

// slot is the set of one slot.
func (c *clusters) slot(at int, w allocation.Window, dict *allocation.Dict) *allocation.Set {
	s := allocation.NewSet(w, dict)
	rows := make([]allocation.Row, len(c.workloads))
	var running []int
	for i := range c.workloads {
		if c.workloads[i].has(at) {
			rows[i] = c.workloads[i].row
			rows[i].Start, rows[i].End = w.Start, w.End
			rows[i].Values[allocation.RunningSeconds] = slot.Seconds() * (0.2 + 0.8*c.rng.Float64())
			running = append(running, i)
		}
	}
	c.addNodes(s, at, rows, running)
	var rest []allocation.Row
	rest = append(rest, c.addVolumes(s, at, rows, running)...)
	rest = append(rest, c.addBalancers(s, at, rows, running)...)
	c.addTraffic(s, rows, running)
	for _, name := range c.names {
		if fee := c.fees[name]; fee > 0 {
			s.Management = append(s.Management, allocation.Management{Cluster: name, Start: w.Start, End: w.End, Cost: fee})
		}
	}
	for _, i := range running {
		s.Append(&rows[i])
	}
	for i := range rest {
		s.Append(&rest[i])
	}
	return s
}

// addNodes divides the cost of each node among its containers and idle.
func (c *clusters) addNodes(s *allocation.Set, at int, rows []allocation.Row, running []int) {
	w := s.Window
	for i := range c.machines {
		m := &c.machines[i]
		if !m.has(at) {
			continue
		}
		n := m.node
		n.Start, n.End, n.RunningSeconds = w.Start, w.End, slot.Seconds()
		for r := range allocation.NumResources {
			n.Cost[r], n.Hours[r] = m.price[r]*(0.5+c.rng.Float64()), 4
			left := n.Cost[r]
			for _, k := range running {
				if c.workloads[k].node == i {
					cost := left * c.rng.Float64() / 2
					rows[k].Values[allocation.Cost.Of(r)] = cost
					left -= cost
				}
			}
			n.Idle[r] = left
		}
		s.Nodes = append(s.Nodes, n)
		if m.disk >= 0 {
			s.Disks = append(s.Disks, allocation.Disk{
				Cluster: n.Cluster, Name: n.Name, ProviderID: n.ProviderID, Local: true, StorageClass: allocation.LocalStorage,
				Start: w.Start, End: w.End, Cost: m.disk, ByteHours: 10,
			})
		}
	}
}

// addVolumes divides the cost of each volume among the containers that mount it; without any it is a row of its own.
func (c *clusters) addVolumes(s *allocation.Set, at int, rows []allocation.Row, running []int) (rest []allocation.Row) {
	dict, w := s.Dict(), s.Window
	for i := range c.volumes {
		v := &c.volumes[i]
		if !v.has(at) {
			continue
		}
		d := v.disk
		d.Start, d.End, d.Cost, d.ByteHours = w.Start, w.End, v.price, 1+c.rng.Float64()
		s.Disks = append(s.Disks, d)
		users := users(c, running, func(x *workload) []int { return x.volumes }, i)
		share := allocation.VolumeShare{Key: dict.Add(allocation.VolumeKey(d.Cluster, d.Name)), ProviderID: dict.Add(d.ProviderID)}
		give := func(r *allocation.Row, n int) {
			share.Cost, share.ByteHours = d.Cost/float64(n), d.ByteHours/float64(n)
			r.Volumes = append(r.Volumes, share)
			r.Values[allocation.PVCost] += share.Cost
			r.Values[allocation.PVByteHours] += share.ByteHours
		}
		for _, k := range users {
			give(&rows[k], len(users))
		}
		if len(users) == 0 {
			rest = append(rest, special(allocation.Unmounted, allocation.UnmountedName, d.Cluster, w))
			give(&rest[len(rest)-1], 1)
		}
	}
	return rest
}

func users(c *clusters, running []int, of func(*workload) []int, i int) (list []int) {
	for _, k := range running {
		if slices.Contains(of(&c.workloads[k]), i) {
			list = append(list, k)
		}
	}
	return list
}

func special(kind allocation.Special, name, cluster string, w allocation.Window) allocation.Row {
	r := allocation.Row{Special: kind, Start: w.Start, End: w.End}
	r.Text[allocation.Cluster] = cluster
	r.Text[allocation.Namespace], r.Text[allocation.Pod], r.Text[allocation.Container] = name, name, name
	return r
}

// addBalancers divides the cost of each load balancer among the containers behind it.
func (c *clusters) addBalancers(s *allocation.Set, at int, rows []allocation.Row, running []int) (rest []allocation.Row) {
	dict, w := s.Dict(), s.Window
	for i := range c.balancers {
		b := &c.balancers[i]
		if !b.has(at) {
			continue
		}
		l := b.balancer
		l.Start, l.End, l.Cost, l.Hours = w.Start, w.End, b.price, slot.Hours()
		s.Balancers = append(s.Balancers, l)
		users := users(c, running, func(x *workload) []int { return x.balancers }, i)
		share := allocation.LoadBalancerShare{Key: dict.Add(allocation.LoadBalancerKey(l.Cluster, l.Namespace, l.Service)), Service: dict.Add(l.Namespace + "/" + l.Service), Hours: l.Hours}
		give := func(r *allocation.Row, n int) {
			share.Cost = l.Cost / float64(n)
			r.LoadBalancers = append(r.LoadBalancers, share)
			r.Values[allocation.LoadBalancerCost] += share.Cost
		}
		for _, k := range users {
			give(&rows[k], len(users))
		}
		if len(users) == 0 {
			rest = append(rest, special(allocation.Unallocated, allocation.UnallocatedName, l.Cluster, w))
			give(&rest[len(rest)-1], 1)
		}
	}
	return rest
}

// addTraffic gives some containers traffic, and their clusters networks.
func (c *clusters) addTraffic(s *allocation.Set, rows []allocation.Row, running []int) {
	for _, name := range c.names {
		n := allocation.Network{Cluster: name, Start: s.Window.Start, End: s.Window.End}
		for _, k := range running {
			if r := &rows[k]; r.Text[allocation.Cluster] == name && c.workloads[k].traffic {
				r.Values[allocation.NetworkInternetCost] = c.rng.Float64()
				n.Internet += r.Values[allocation.NetworkInternetCost]
			}
		}
		if n.Internet > 0 {
			s.Networks = append(s.Networks, n)
		}
	}
}

// biller makes random lines.
type biller struct {
	rng    *rand.Rand
	lines  []billing.Line
	window allocation.Window
}

// resource is something that a bill charges, as the bill writes it.
type resource struct {
	item billing.Item
	cost float64 // an hour
}

// account is an account of a bill, charged in a currency.
func account(bill, provider, id, sub, currency string) billing.Item {
	return billing.Item{Bill: bill, Account: billing.Account{Provider: provider, ID: id, SubID: sub, Currency: currency}}
}

// charge adds hourly or daily lines of a resource, some of which are missing.
func (b *biller) charge(r resource, step time.Duration) {
	for at := b.window.Start; at.Before(b.window.End); at = at.Add(step) {
		if b.rng.IntN(8) == 0 {
			continue // a gap
		}
		b.line(r.item, allocation.Window{Start: at, End: at.Add(step)}, r.cost*step.Hours()*(0.5+b.rng.Float64()))
	}
}

// line adds a line, and sometimes a correction of it.
func (b *biller) line(item billing.Item, w allocation.Window, cost float64) {
	b.add(item, w, cost)
	if b.rng.IntN(20) == 0 {
		item.Charge.Class = "Correction"
		b.add(item, w, -cost*b.rng.Float64())
	}
}

// add adds a line in the billing period of its month.
func (b *biller) add(item billing.Item, w allocation.Window, cost float64) {
	y, m, _ := w.Start.UTC().Date()
	item.Account.PeriodStart = time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
	item.Account.PeriodEnd = item.Account.PeriodStart.AddDate(0, 1, 0)
	b.lines = append(b.lines, billing.Line{
		Item: &item, Start: w.Start, End: w.End, Costs: billing.Costs{cost, cost, cost, cost}, Known: [billing.NumCosts]bool{true, true, true, true},
	})
}

// resources are what bills charge of clusters, and other things.
func (b *biller) resources(c *clusters) (list []resource) {
	aws, gcp, azure := account("aws", "AWS", "payer", "222", "USD"), account("gcp", "GCP", "billing-n", "project-n", "EUR"), account("azure", "Azure", "ea", "/subscriptions/s-1", "USD")
	of := map[string]billing.Item{"east": aws, "north": gcp, "arn:aws:eks:eu-1:222:cluster/west": azure}
	add := func(item billing.Item, id, name string, with ...func(*billing.Item)) {
		item.Resource.ID, item.Resource.Name = id, name
		for _, f := range with {
			f(&item)
		}
		list = append(list, resource{item, b.rng.Float64()})
	}
	traffic := func(i *billing.Item) { i.Charge.ConsumedUnit, i.Charge.Meter = "GB", "EU-DataTransfer-Out-Bytes" }
	tagged := func(name, value string) func(*billing.Item) {
		return func(i *billing.Item) { i.Tags = append(i.Tags, billing.Tag{Name: name, Value: value}) }
	}
	category := func(c billing.Category) func(*billing.Item) { return func(i *billing.Item) { i.Charge.Category = c } }
	unused := func(i *billing.Item) { i.Commitment.Status = "Unused" }
	for k := range c.machines {
		m := &c.machines[k].node
		switch account := of[m.Cluster]; account.Account.Provider {
		case "AWS":
			id := m.ProviderID[len("aws:///eu-1a/"):]
			add(account, id, "")
			add(account, "arn:aws:ec2:eu-1:222:instance/"+id, "", traffic)
			add(account, "vol-root-"+id, "", tagged("instance", id))
		case "GCP":
			add(account, fmt.Sprintf("//compute.googleapis.com/projects/project-n/zones/zone-1/instances/%d", k), m.Name)
			add(account, fmt.Sprintf("//compute.googleapis.com/projects/project-n/zones/zone-1/instances/%d", k), m.Name, traffic)
			add(account, fmt.Sprintf("//compute.googleapis.com/projects/project-n/zones/zone-1/disks/%d", k), m.Name)
		}
	}
	pool := "/subscriptions/s-1/resourcegroups/rg/providers/microsoft.compute/virtualmachinescalesets/pool"
	add(azure, pool, "pool")
	add(azure, pool, "pool", traffic)
	for i := range c.volumes {
		d := &c.volumes[i].disk
		id := d.ProviderID
		if d.Cluster == "north" {
			add(gcp, fmt.Sprintf("//compute.googleapis.com/projects/project-n/zones/zone-1/disks/%d00", i), fmt.Sprintf("pvc-%d", i))
			continue
		}
		add(of[d.Cluster], id, "")
	}
	for i := range 4 {
		add(aws, fmt.Sprintf("arn:aws:elasticloadbalancing:eu-1:222:loadbalancer/net/a%d/0123", i), "")
	}
	add(aws, "arn:aws:eks:eu-1:222:cluster/east", "", func(i *billing.Item) { i.Service.Name = "Amazon Elastic Container Service for Kubernetes" })
	add(gcp, "//container.googleapis.com/projects/project-n/locations/eu/clusters/north", "north")
	add(aws, "arn:aws:s3:::bucket", "", tagged("kubernetes_namespace", "shop"))
	add(gcp, "bucket-2", "", tagged("kubernetes_label_app", "x"), tagged("owner", "me"))
	add(aws, "arn:aws:rds:eu-1:222:db:orders", "")
	add(aws, "arn:aws:savingsplans::222:savingsplan/1", "", unused)
	add(aws, "", "", category(billing.Tax))
	add(gcp, "", "", category(billing.Tax))
	add(azure, "", "", category(billing.Credit))
	add(account("vendor", "Vendor", "v", "", "USD"), "", "seats")
	return list
}

// book is a random bill of the clusters in a window.
func (b *biller) book(c *clusters, zone *time.Location, now time.Time) *billing.Book {
	for _, r := range b.resources(c) {
		if b.rng.IntN(6) > 0 { // else it is not billed
			b.charge(r, []time.Duration{time.Hour, 24 * time.Hour}[b.rng.IntN(2)])
		}
	}
	rates := billing.Rates{Currency: "USD", Always: map[string]float64{"EUR": 1.08}}
	var bills []billing.Bill
	for _, name := range []string{"aws", "gcp", "azure", "vendor"} {
		bill := billing.Bill{Name: name, Rates: rates, Settle: 24 * time.Hour}
		if b.rng.IntN(2) == 0 {
			bill.Include = []billing.Category{billing.Tax}
		}
		bills = append(bills, bill)
	}
	return billing.FromLines(billing.Options{Bills: bills, Zone: zone, Now: now}, b.lines)
}

// books always has the same book.
type books struct{ book *billing.Book }

func (b books) Book(context.Context) (*billing.Book, error) { return b.book, nil }
