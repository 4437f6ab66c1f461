package strategy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/clock"
)

const (
	// GeneratedSuffix and maxNameBase limit generated names as upstream: at most 58
	// characters of the client's prefix and 5 random ones.
	GeneratedSuffix = 5
	maxNameBase     = 63 - GeneratedSuffix
	// NameTries is the number of attempts to find a generated name that is free
	// (KEP-4420).
	NameTries = 8
)

// Preparer sets the fields of new objects that come from time and chance.
type Preparer struct {
	Clock clock.Clock
	// Chance generates names and UIDs.
	Chance *clock.Keyed
}

// Now returns the cluster's time for object metadata, in whole seconds.
func (p *Preparer) Now() metav1.Time { return Seconds(p.Clock) }

// Seconds returns the time of a clock in whole seconds.
func Seconds(c clock.Clock) metav1.Time {
	return metav1.NewTime(c.Now().Truncate(time.Second))
}

// GenerateName sets the name from generateName. Concurrent creates get the same set of
// names in every run with the same seed, but not necessarily in the same order.
func (p *Preparer) GenerateName(row *resources.Resource, m metav1.Object) {
	base := m.GetGenerateName()
	if len(base) > maxNameBase {
		base = base[:maxNameBase]
	}
	m.SetName(base + p.Chance.For(row.Plural, m.GetNamespace(), base).Suffix(GeneratedSuffix))
}

// newUID returns the UID of a new object. The UIDs of objects with a TTL come from a
// generator per namespace instead of one per name, to save memory.
func (p *Preparer) newUID(row *resources.Resource, m metav1.Object) types.UID {
	if row.Strategy.TTL > 0 {
		return p.Chance.For(row.Plural, m.GetNamespace()).UID()
	}
	return p.Chance.For(row.Plural, m.GetNamespace(), m.GetName()).UID()
}
