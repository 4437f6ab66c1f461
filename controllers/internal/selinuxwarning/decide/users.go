package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Users are the pods that use volumes. It is not safe for concurrent use.
type Users struct {
	volumes map[string]map[types.NamespacedName]Use
	pods    map[types.NamespacedName][]Use
}

func NewUsers() *Users {
	return &Users{volumes: map[string]map[types.NamespacedName]Use{}, pods: map[types.NamespacedName][]Use{}}
}

// Conflict is one for a pod; another one is for the other pod.
type Conflict struct {
	Pod, Other types.NamespacedName
	// Property is the property that differs: SELinuxLabel or SELinuxChangePolicy.
	Property          string
	Value, OtherValue string
}

// Reason is the reason of the event.
func (c *Conflict) Reason() string { return c.Property + "Conflict" }

// Message is the message of the event, with upstream's words. It does not name pods of other
// namespaces.
func (c *Conflict) Message() string {
	const end = ". If both pods land on the same node, only one of them may access the volume."
	if c.Pod.Namespace == c.Other.Namespace {
		return fmt.Sprintf("%s %q conflicts with pod %s that uses the same volume as this pod with %s %q%s", c.Property, c.Value, c.Other.Name, c.Property, c.OtherValue, end)
	}
	return fmt.Sprintf("%s%q conflicts with another pod that uses the same volume as this pod with a different %s%s", c.Property, c.Value, c.Property, end)
}

// Set records the uses of a pod, in place of earlier ones, and returns the conflicts of the uses
// that have changed.
func (u *Users) Set(pod types.NamespacedName, uses []Use) []Conflict {
	before := u.pods[pod]
	u.Remove(pod)
	if len(uses) > 0 {
		u.pods[pod] = uses
	}
	var conflicts []Conflict
	for _, use := range uses {
		if !slices.Contains(before, use) {
			conflicts = append(conflicts, u.conflicts(pod, use)...)
		}
		if u.volumes[use.Volume] == nil {
			u.volumes[use.Volume] = map[types.NamespacedName]Use{}
		}
		u.volumes[use.Volume][pod] = use
	}
	return conflicts
}

// Remove forgets the uses of a pod.
func (u *Users) Remove(pod types.NamespacedName) {
	for _, use := range u.pods[pod] {
		if delete(u.volumes[use.Volume], pod); len(u.volumes[use.Volume]) == 0 {
			delete(u.volumes, use.Volume)
		}
	}
	delete(u.pods, pod)
}

// conflicts returns the conflicts of a use with the uses of other pods, in the order of the pods' names.
func (u *Users) conflicts(pod types.NamespacedName, use Use) []Conflict {
	var others []types.NamespacedName
	for other := range u.volumes[use.Volume] {
		if other != pod {
			others = append(others, other)
		}
	}
	slices.SortFunc(others, func(a, b types.NamespacedName) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	var conflicts []Conflict
	both := func(other types.NamespacedName, property, value, otherValue string) {
		conflicts = append(conflicts, Conflict{pod, other, property, value, otherValue}, Conflict{other, pod, property, otherValue, value})
	}
	for _, other := range others {
		with := u.volumes[use.Volume][other]
		if with.Policy != use.Policy {
			both(other, "SELinuxChangePolicy", policy(use), policy(with))
		}
		if labelsConflict(with.Label, use.Label) {
			both(other, "SELinuxLabel", use.Label, with.Label)
		}
	}
	return conflicts
}

func policy(u Use) string { return string(u.Policy) }

// labelsConflict compares labels. A user, role or type that is empty may become any: the node has
// a default for it. The level has no default.
func labelsConflict(a, b string) bool {
	as, bs := partsOf(a), partsOf(b)
	for i := range 3 {
		if as[i] != bs[i] && as[i] != "" && bs[i] != "" {
			return true
		}
	}
	return as[3] != bs[3]
}

func partsOf(label string) (parts [4]string) {
	copy(parts[:], strings.SplitN(label, ":", 4))
	return parts
}
