package democluster

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	secondMillis = int64(1000)
	minuteMillis = 60 * secondMillis
	hourMillis   = 60 * minuteMillis
)

// Fractions of the duration at which what happens once happens. In the default 72h, those from 0.7 on fall into
// the last 24h.
const (
	atFirstRollout   = 0.30
	atServiceCreated = 0.40
	atFirstRestart   = 0.50
	atNamespaceGone  = 0.71
	atCadvisorOutage = 0.72
	atNamespaceBack  = 0.74
	atNodeJoins      = 0.76
	atStop           = 0.78
	atPriceChange    = 0.80
	atBiggerRequest  = 0.81
	atMoveToSpot     = 0.815
	atSecondRollout  = 0.82
	atNewTeam        = 0.825
	atVolumeGrows    = 0.83
	atMetricsOutage  = 0.85
	atRecreation     = 0.88
	atServiceDeleted = 0.87
	atCrashLoop      = 0.91
	atVolumeDeleted  = 0.89
	atNodeLeaves     = 0.90
	atSecondRestart  = 0.93
)

// Cluster is the plan of everything that happens in a demo cluster. Its methods may be called concurrently.
type Cluster struct {
	cfg        Config
	key        uint64
	start, end int64 // bounds of the history, unix milliseconds
	scale      float64

	kubeState, opencost, karpenter *target
	stopped                        span // Prometheus does not run

	// mu guards what planning beyond the end still adds to, all that follows.
	mu          sync.RWMutex
	planned     int64 // everything before is decided
	events      eventQueue
	nodes       []*node
	workloads   []*workload
	pods        []*pod
	replicaSets []replicaSet
	jobs        []jobRun
	volumes     []*volume
	services    []*service
	created     uint64 // number of pods created so far
	separate    uint64 // number of pods that are numbered separately
}

// workload is an instance of a template in one namespace.
type workload struct {
	template

	key      uint64
	life     span // of its namespace
	replicas int
	onSpot   bool      // new pods need a spot node
	set      string    // current ReplicaSet's name
	live     []*pod    // by replica
	volumes  []*volume // by replica, of a StatefulSet
	shared   []*volume // all pods mount them
	services []*service
	fired    int             // Jobs: number started so far
	names    map[string]bool // of pods, of a DaemonSet
}

// pod is one pod with everything that ever happens to it. Times are whole seconds, as Kubernetes tells them.
type pod struct {
	key      uint64
	uid      string
	name, ip string
	of       *workload
	ordinal  int
	owner    struct{ kind, name string } // immediate owner: ReplicaSet, StatefulSet, DaemonSet, Job
	node     *node
	volumes  []*volume
	gpu      gpuUse

	created   int64 // created and scheduled
	started   int64 // acknowledged by the kubelet
	ready     int64 // all main containers run
	end       int64 // no container runs any more
	listed    int64 // until then the API lists it
	completed bool  // a Job's pod that succeeded at end

	containers []container
}

// container is one container of one pod; several runs if it was restarted in place.
type container struct {
	spec           *containerSpec
	request, limit resources // those of spec, unless the configuration has others
	key            uint64
	runs           []span
}

func (ct *container) id(run int) string { return hex64(keyOf(ct.key, "id", strconv.Itoa(run))) }

type replicaSet struct {
	namespace, name, deployment string
	life                        span
}

type jobRun struct {
	namespace, name, cronJob string // cronJob "" = created by hand
	listed                   span
}

// New plans the cluster; its zero fields get their defaults, End from the clock.
func New(cfg Config) (*Cluster, error) {
	cfg = cfg.WithDefaults(time.Now())
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	// The workloads shrink until the scheduler, which never overcommits, places them all.
	const largest, smallest, shrink = 1.5, 0.01, 0.85
	var err error
	for scale := largest; scale > smallest; scale *= shrink {
		c := newCluster(cfg, scale)
		if err = c.populate(); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("plan demo cluster: %w (give it more nodes or fewer pods)", err)
}

func newCluster(cfg Config, scale float64) *Cluster {
	c := &Cluster{
		cfg: cfg, scale: scale,
		end: cfg.End.Unix() * secondMillis,
		key: mix(uint64(cfg.Seed) + uint64(cfg.JobsPerHour)<<32),
	}
	c.start = (c.end - cfg.Duration.Milliseconds()) / secondMillis * secondMillis
	c.stopped = c.outage(atStop, 7*time.Minute)
	c.kubeState = c.newTarget("kube-state-metrics", "10.2.0.14:8080", keyOf(c.key, "kube-state-metrics"))
	c.kubeState.fails(c.outage(atMetricsOutage, 12*time.Minute))
	c.opencost = c.newTarget("opencost", "10.2.0.15:9003", keyOf(c.key, "opencost"))
	c.karpenter = c.newTarget("karpenter", "10.2.0.16:8080", keyOf(c.key, "karpenter"))
	return c
}

// Start returns the time of the first scrapes.
func (c *Cluster) Start() time.Time { return time.UnixMilli(c.start).UTC() }

// End returns the end of the history, in whole seconds. The plan goes on beyond it.
func (c *Cluster) End() time.Time { return time.UnixMilli(c.end).UTC() }

// timeAt returns the whole second at a fraction of the duration, or at its time if the configuration has one.
func (c *Cluster) timeAt(fraction float64) int64 {
	t := c.start + int64(fraction*float64(c.end-c.start))
	if after := afterChanges(fraction); after > 0 && !c.cfg.Changes.IsZero() {
		t = c.cfg.Changes.Add(after).UnixMilli()
	}
	return t / secondMillis * secondMillis
}

// outage is a target's downtime: of the given length, shorter in a short history.
func (c *Cluster) outage(fraction float64, length time.Duration) span {
	from := c.timeAt(fraction)
	return span{from, from + min(length, c.cfg.Duration/20).Milliseconds()}
}

// populate builds nodes and workloads and plays all events up to the end.
func (c *Cluster) populate() error {
	c.buildNodes()
	c.buildWorkloads()
	if err := c.placeInitial(); err != nil {
		return err
	}
	c.scheduleEvents()
	return c.play(c.end)
}

// extend plans what happens until to, if that is not yet decided. After the end only Jobs come and go, which
// are left out where they do not fit.
func (c *Cluster) extend(to int64) {
	c.mu.RLock()
	done := to <= c.planned
	c.mu.RUnlock()
	if done {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.play(to); err != nil {
		panic("BUG: nothing that can fail is planned after the end: " + err.Error())
	}
}

// buildWorkloads instantiates the templates: kube-system once, the teams' namespaces once for every 110 pods, the
// Deployments' replicas such that about Pods pods run.
func (c *Cluster) buildWorkloads() {
	const copyPods, runningJobs = 110, 2
	rest := c.cfg.Pods - daemonsPerNode*c.cfg.Nodes
	for _, t := range systemTemplates() {
		rest -= t.replicas
		c.addWorkload(t, 0)
	}
	copies := max(1, (rest+copyPods/2)/copyPods)
	gpuNodes := 1 + (c.cfg.Nodes-1)/50
	var deployments []*workload
	weight := 0
	for i := range copies {
		c.addClaims(i)
		for _, t := range teamTemplates() {
			if t.gpuOnly && i >= gpuNodes {
				continue
			}
			w := c.addWorkload(t, i)
			rest -= t.replicas
			if t.weight > 0 {
				deployments, weight = append(deployments, w), weight+t.weight
			}
		}
		rest -= runningJobs
	}
	// Each Deployment gets its share of what is left, rounded so that the sum is exact.
	given, passed := 0, 0
	for _, w := range deployments {
		passed += w.weight
		until := max(0, rest) * passed / weight
		w.replicas = max(1, until-given)
		given = max(given, until)
	}
	for i := range min(copies, gpuNodes) {
		for _, t := range sharedGPUTemplates() {
			c.addWorkload(t, i)
		}
	}
	for _, t := range incidentTemplates() {
		c.addWorkload(t, 0)
	}
	c.slowJobs()
	c.addUnmounted()
	c.addBalancers()
}

// slowJobs has Jobs start less often, where there would be more than the configuration says. What starts on the clock starts at whole minutes.
func (c *Cluster) slowJobs() {
	rate := 0.0 // an hour
	for _, w := range c.workloads {
		if w.every > 0 {
			rate += time.Hour.Minutes() / w.every.Minutes() / float64(max(1, w.hours))
		}
	}
	if c.cfg.JobsPerHour == 0 || rate <= float64(c.cfg.JobsPerHour) {
		return
	}
	for _, w := range c.workloads {
		w.every = time.Duration(float64(w.every) * rate / float64(c.cfg.JobsPerHour)).Round(time.Minute)
	}
}

// numbered is the name of a namespace in a copy of the teams' namespaces.
func numbered(namespace string, copyNumber int) string {
	if copyNumber == 0 {
		return namespace
	}
	return fmt.Sprintf("%s-%d", namespace, copyNumber+1)
}

func (c *Cluster) addWorkload(t template, copyNumber int) *workload {
	t.namespace = numbered(t.namespace, copyNumber)
	t.containers = slices.Clone(t.containers)
	if t.kind != daemonSet {
		for i := range t.containers {
			t.containers[i] = t.containers[i].scaled(c.scale)
		}
	}
	w := &workload{template: t, key: keyOf(c.key, t.namespace, t.kind, t.name), replicas: t.replicas, life: c.always()}
	if t.begins > 0 {
		w.life.from = c.timeAt(t.begins)
	}
	if t.ends > 0 {
		w.life.to = c.timeAt(t.ends)
	}
	if t.kind == daemonSet {
		w.replicas = len(c.nodes)
	}
	if t.storage > 0 {
		for i := range t.replicas {
			w.volumes = append(w.volumes, c.newVolume(t.namespace, fmt.Sprintf("data-%s-%d", t.name, i), "data", gp3(), t.storage))
		}
	}
	for _, v := range c.volumes {
		if t.mounts != "" && v.namespace == t.namespace && v.claim == t.mounts {
			w.shared = []*volume{v}
		}
	}
	if t.service != "" {
		c.addService(w)
	}
	c.workloads = append(c.workloads, w)
	return w
}
