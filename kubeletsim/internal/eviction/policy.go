package eviction

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"minikcm.dev/minikcm/internal/quantity"
	"minikcm.dev/minikcm/internal/usage"
)

// Signal names an amount that is available on a node, as the flags of upstream's kubelet do.
type Signal string

const (
	MemoryAvailable Signal = "memory.available"
	DiskAvailable   Signal = "nodefs.available"
	PIDAvailable    Signal = "pid.available"
)

// signals are the signals in the order in which their resources are reclaimed.
func signals() []Signal { return []Signal{MemoryAvailable, DiskAvailable, PIDAvailable} }

// resource returns the resource whose usage by pods lowers the signal's amount.
func (s Signal) resource() corev1.ResourceName {
	switch s {
	case MemoryAvailable:
		return corev1.ResourceMemory
	case DiskAvailable:
		return corev1.ResourceEphemeralStorage
	}
	return usage.ResourcePIDs
}

// condition is the condition of a node on which a threshold of the signal is met.
func (s Signal) condition() corev1.NodeConditionType {
	switch s {
	case MemoryAvailable:
		return corev1.NodeMemoryPressure
	case DiskAvailable:
		return corev1.NodeDiskPressure
	}
	return corev1.NodePIDPressure
}

// The annotations of a Node that configure evictions, like the flags of these names of upstream's
// kubelet. Signals that AnnotationHard does not name have their default threshold.
const (
	AnnotationHard        = "minikcm.dev/eviction-hard"
	AnnotationSoft        = "minikcm.dev/eviction-soft"
	AnnotationSoftGrace   = "minikcm.dev/eviction-soft-grace-period"
	AnnotationMinReclaim  = "minikcm.dev/eviction-minimum-reclaim"
	AnnotationMaxPodGrace = "minikcm.dev/eviction-max-pod-grace-period"
	AnnotationTransition  = "minikcm.dev/eviction-pressure-transition-period"
	// The annotations for the garbage collection of images: percentages of the node's disk, and the
	// least age of an image.
	AnnotationImageHigh   = "minikcm.dev/image-gc-high-threshold"
	AnnotationImageLow    = "minikcm.dev/image-gc-low-threshold"
	AnnotationImageMinAge = "minikcm.dev/minimum-image-ttl-duration"
	defaultHard           = "memory.available<100Mi,nodefs.available<10%"
	defaultTransition     = 5 * time.Minute
	maxThresholds         = 20
	maxAnnotationText     = 1000
	exampleOfHard         = "memory.available<100Mi,nodefs.available<10%"
	exampleOfSoftGrace    = "memory.available=1m30s"
	exampleOfMinReclaim   = "memory.available=500Mi"
)

// Amount is a quantity, or a share of the node's capacity.
type Amount struct {
	Quantity resource.Quantity
	// Share is 0 to 1; Quantity does not count if it is above 0.
	Share float64
}

// of returns the amount, given the node's capacity.
func (a Amount) of(capacity float64) float64 {
	if a.Share > 0 {
		return a.Share * capacity
	}
	return a.Quantity.AsApproximateFloat64()
}

// text returns the amount as messages show it.
func (a Amount) text(capacity float64) string {
	if a.Share > 0 {
		return bytes(a.of(capacity))
	}
	return a.Quantity.String()
}

// Threshold is met while less of the signal's amount than Below is available.
type Threshold struct {
	Signal Signal
	Below  Amount
	// Soft thresholds must be met for Grace before a pod is evicted.
	Soft  bool
	Grace time.Duration
	// MinReclaim is the amount beyond Below that must be available before the kubelet stops
	// evicting.
	MinReclaim Amount
}

func (t *Threshold) key() thresholdKey { return thresholdKey{t.Signal, t.Soft} }

type thresholdKey struct {
	signal Signal
	soft   bool
}

// Policy holds a kubelet's rules for evictions.
type Policy struct {
	Thresholds []Threshold
	// MaxPodGrace bounds the grace period of pods that soft thresholds evict.
	MaxPodGrace time.Duration
	// Transition is the time that a condition lasts after its thresholds were last met.
	Transition time.Duration
	Images     ImagePolicy
}

// Configuration are a Node's annotations for evictions, in a form that can be compared.
type Configuration [9]string

// ConfigurationOf reads a Node's annotations.
func ConfigurationOf(annotations map[string]string) (c Configuration) {
	if len(annotations) == 0 {
		return c
	}
	for i, key := range configurationKeys() {
		c[i] = annotations[key]
	}
	return c
}

func configurationKeys() [9]string {
	return [9]string{
		AnnotationHard, AnnotationSoft, AnnotationSoftGrace, AnnotationMinReclaim, AnnotationMaxPodGrace, AnnotationTransition,
		AnnotationImageHigh, AnnotationImageLow, AnnotationImageMinAge,
	}
}

// Policy returns the rules, and describes the values that cannot be read, which are ignored.
func (c Configuration) Policy() (Policy, []string) {
	p := Policy{Transition: defaultTransition}
	var bad []string
	failed := func(key string, err error) {
		if err != nil {
			bad = append(bad, fmt.Sprintf("annotation %s is ignored: %v", key, err))
		}
	}
	defaults, _ := parseThresholds(defaultHard, false)
	hard, err := parseThresholds(c[0], false)
	failed(AnnotationHard, err)
	for _, d := range defaults {
		if !slices.ContainsFunc(hard, func(t Threshold) bool { return t.Signal == d.Signal }) {
			hard = append(hard, d)
		}
	}
	graces, err := parseGraces(c[2])
	failed(AnnotationSoftGrace, err)
	soft, err := parseThresholds(c[1], true)
	failed(AnnotationSoft, err)
	for i := range soft {
		grace, ok := graces[soft[i].Signal]
		if !ok {
			failed(AnnotationSoft, fmt.Errorf("%s has no grace period; set %s, such as %q", soft[i].Signal, AnnotationSoftGrace, exampleOfSoftGrace))
			soft = nil
			break
		}
		soft[i].Grace = grace
	}
	p.Thresholds = slices.Concat(hard, soft)
	reclaims, err := parseReclaims(c[3])
	failed(AnnotationMinReclaim, err)
	for i := range p.Thresholds {
		p.Thresholds[i].MinReclaim = reclaims[p.Thresholds[i].Signal]
	}
	if c[4] != "" {
		seconds, err := strconv.ParseUint(c[4], 10, 31)
		if err != nil {
			err = fmt.Errorf("%q is not a number of seconds", c[4])
		}
		failed(AnnotationMaxPodGrace, err)
		p.MaxPodGrace = time.Duration(seconds) * time.Second
	}
	if c[5] != "" {
		d, err := parsePeriod(c[5])
		failed(AnnotationTransition, err)
		if err == nil {
			p.Transition = d
		}
	}
	p.Images = imagePolicy(c[6], c[7], c[8], failed)
	return p, bad
}

// pairs calls each for the parts of a text, which commas or spaces separate.
func pairs(text, operator, example string, each func(Signal, string) error) error {
	if len(text) > maxAnnotationText {
		return fmt.Errorf("it has more than %d characters", maxAnnotationText)
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
	if len(parts) > maxThresholds {
		return fmt.Errorf("it has more than %d parts", maxThresholds)
	}
	for _, part := range parts {
		name, value, ok := strings.Cut(part, operator)
		if !ok {
			return fmt.Errorf("%q is not like %q", part, example)
		}
		signal := Signal(strings.TrimSpace(name))
		if !slices.Contains(signals(), signal) {
			return fmt.Errorf("%q is none of the signals %s, %s, %s", name, MemoryAvailable, DiskAvailable, PIDAvailable)
		}
		if err := each(signal, strings.TrimSpace(value)); err != nil {
			return err
		}
	}
	return nil
}

func parseThresholds(text string, soft bool) ([]Threshold, error) {
	var all []Threshold
	err := pairs(text, "<", exampleOfHard, func(s Signal, value string) error {
		amount, err := parseAmount(value)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(all, func(t Threshold) bool { return t.Signal == s }) {
			return fmt.Errorf("%s has two thresholds", s)
		}
		all = append(all, Threshold{Signal: s, Below: amount, Soft: soft})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func parseGraces(text string) (map[Signal]time.Duration, error) {
	all := map[Signal]time.Duration{}
	err := pairs(text, "=", exampleOfSoftGrace, func(s Signal, value string) (err error) {
		all[s], err = parsePeriod(value)
		return err
	})
	return all, err
}

func parseReclaims(text string) (map[Signal]Amount, error) {
	all := map[Signal]Amount{}
	err := pairs(text, "=", exampleOfMinReclaim, func(s Signal, value string) (err error) {
		all[s], err = parseAmount(value)
		return err
	})
	return all, err
}

func parseAmount(text string) (Amount, error) {
	if number, ok := strings.CutSuffix(text, "%"); ok {
		percent, err := strconv.ParseFloat(number, 64)
		if err != nil || !(percent >= 0 && percent <= 100) {
			return Amount{}, fmt.Errorf("%q is not a percentage from 0%% to 100%%", text)
		}
		return Amount{Share: percent / 100}, nil
	}
	amount, err := quantity.Parse(text)
	if err != nil || amount.Sign() < 0 {
		return Amount{}, fmt.Errorf("%q is neither a quantity such as 100Mi nor a percentage such as 10%%", text)
	}
	return Amount{Quantity: amount}, nil
}

func parsePeriod(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration such as 90s", text)
	}
	return d, nil
}
