package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/lru"

	"minikcm.dev/minikcm/clock"
)

// defaultLimitCache is the default number of limiters of an EventLimit.
const defaultLimitCache = 4096

// EventLimit limits the writes of Events that have one key, a namespace for instance.
type EventLimit struct {
	// Type is the type of the limit's key: Server, Namespace, User or SourceAndObject.
	Type string `json:"type"`
	// QPS is the number of writes per second, and Burst the number of writes at once.
	QPS   int32 `json:"qps"`
	Burst int32 `json:"burst"`
	// CacheSize caps the keys that are kept; a key that is dropped starts again. 0 means 4096.
	CacheSize int32 `json:"cacheSize,omitempty"`
}

// eventKeys are the types of limits: each returns the key of a write.
var eventKeys = map[string]func(*Attributes) string{
	"Server":          func(*Attributes) string { return "" },
	"Namespace":       func(a *Attributes) string { return a.Namespace },
	"User":            userName,
	"SourceAndObject": sourceAndObject,
}

func userName(a *Attributes) string {
	if a.User == nil {
		return ""
	}
	return a.User.Name
}

func sourceAndObject(a *Attributes) string {
	event, ok := a.Object.(*corev1.Event)
	if !ok {
		return ""
	}
	about := &event.InvolvedObject
	return strings.Join([]string{
		event.Source.Component, event.Source.Host, about.Kind, about.Namespace, about.Name, string(about.UID), about.APIVersion,
	}, "")
}

// EventRateLimit limits the writes of Events (the core group's), on the cluster's clock.
type EventRateLimit struct{ limits []*eventLimiter }

type eventLimiter struct {
	EventLimit
	clock clock.Clock

	mu       sync.Mutex
	limiters *lru.Cache
}

// NewEventRateLimit returns the plugin with the configuration in a YAML document
// (eventratelimit.admission.k8s.io/v1alpha1, kind Configuration).
func NewEventRateLimit(config []byte, clock clock.Clock) (*EventRateLimit, error) {
	var parsed struct {
		metav1.TypeMeta `json:",inline"`

		Limits []EventLimit `json:"limits"`
	}
	if err := decodeConfig(config, "eventratelimit.admission.k8s.io/v1alpha1", "Configuration", &parsed); err != nil {
		return nil, err
	}
	if errs := checkEventLimits(parsed.Limits); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	p := &EventRateLimit{}
	for _, limit := range parsed.Limits {
		size := limit.CacheSize
		if size == 0 {
			size = defaultLimitCache
		}
		p.limits = append(p.limits, &eventLimiter{EventLimit: limit, clock: clock, limiters: lru.New(int(size))})
	}
	return p, nil
}

// checkEventLimits validates a configuration, with upstream's texts.
func checkEventLimits(limits []EventLimit) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("limits")
	if len(limits) == 0 {
		errs = append(errs, field.Invalid(p, limits, "must not be empty"))
	}
	for i, limit := range limits {
		at := p.Index(i)
		if eventKeys[limit.Type] == nil {
			errs = append(errs, field.NotSupported(at.Child("type"), limit.Type, slices.Sorted(maps.Keys(eventKeys))))
		}
		if limit.Burst <= 0 {
			errs = append(errs, field.Invalid(at.Child("burst"), limit.Burst, "must be positive"))
		}
		if limit.QPS <= 0 {
			errs = append(errs, field.Invalid(at.Child("qps"), limit.QPS, "must be positive"))
		}
		if limit.CacheSize < 0 {
			errs = append(errs, field.Invalid(at.Child("cacheSize"), limit.CacheSize, "must not be negative"))
		}
	}
	return errs
}

// Check implements Checker.
func (p *EventRateLimit) Check(_ context.Context, a *Attributes) error {
	if a.Operation != Create && a.Operation != Update || a.Resource.GroupResource() != corev1.Resource("events") || a.DryRun {
		return nil
	}
	var errs []error
	for _, limit := range p.limits {
		if key := eventKeys[limit.Type](a); !limit.accept(key) {
			errs = append(errs, fmt.Errorf("limit reached on type %v for key %v", limit.Type, key))
		}
	}
	if err := utilerrors.NewAggregate(errs); err != nil {
		return apierrors.NewTooManyRequestsError(err.Error())
	}
	return nil
}

// accept reports whether a write with this key is within the limit, and counts it.
func (l *eventLimiter) accept(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.limiters.Get(key); ok {
		limiter, ok := known.(flowcontrol.PassiveRateLimiter)
		return ok && limiter.TryAccept()
	}
	limiter := flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(float32(l.QPS), int(l.Burst), l.clock)
	l.limiters.Add(key, limiter)
	return limiter.TryAccept()
}
