package graph

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// object returns an observation of a ConfigMap; its name is also its UID.
func object(name string, change ...func(*Observation)) Observation {
	o := Observation{
		Coordinates:     Coordinates{APIVersion: "v1", Kind: "ConfigMap", Namespace: "a", Name: name, UID: types.UID(name)},
		ResourceVersion: "1",
	}
	for _, f := range change {
		f(&o)
	}
	return o
}

func ownedBy(names ...string) func(*Observation) {
	return func(o *Observation) {
		for _, name := range names {
			o.Owners = append(o.Owners, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: types.UID(name)})
		}
	}
}

func blocking(o *Observation) {
	for i := range o.Owners {
		yes := true
		o.Owners[i].BlockOwnerDeletion = &yes
	}
}

func version(v string) func(*Observation) { return func(o *Observation) { o.ResourceVersion = v } }

func foreground(o *Observation) { o.Deleting, o.Foreground = true, true }

func orphaning(o *Observation) { o.Deleting, o.Orphan = true, true }

func inNamespace(ns string) func(*Observation) { return func(o *Observation) { o.Namespace = ns } }

// woken returns the UIDs that a change wakes, sorted and deduplicated.
func woken(c Changes) []types.UID {
	uids := slices.Clone(c.Wake)
	slices.Sort(uids)
	return slices.Compact(uids)
}

func expect(t *testing.T, what string, c Changes, want ...types.UID) {
	t.Helper()
	got := woken(c)
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s wakes: %s", what, diff)
	}
}

func TestGraphWakesDependentsOfAGoneOwner(t *testing.T) {
	g := New()
	expect(t, "an owner", g.Seen(object("owner")))
	expect(t, "a dependent of a known owner", g.Seen(object("d1", ownedBy("owner"))))
	expect(t, "another", g.Seen(object("d2", ownedBy("owner"))))
	expect(t, "the same again", g.Seen(object("d2", ownedBy("owner"))))
	expect(t, "the owner's end", g.Gone("owner"), "d1", "d2")
	v, _ := g.View("d1")
	if v.States[0] != OwnerAbsent {
		t.Errorf("state of the gone owner: %v", v.States)
	}
	g.Gone("d1")
	g.Gone("d2")
	if g.Len() != 0 {
		t.Errorf("%d nodes are left", g.Len())
	}
}

func TestGraphLooksUnknownOwnersUp(t *testing.T) {
	g := New()
	expect(t, "a dependent of an unknown owner", g.Seen(object("d", ownedBy("owner"))), "owner")
	v, known := g.View("owner")
	if !known || v.Seen || Decide(v).Verb != LookUp {
		t.Fatalf("virtual node: %+v, %v", v, known)
	}
	t.Run("found", func(t *testing.T) {
		expect(t, "the owner, seen", g.Seen(object("owner")))
		if v, _ := g.View("owner"); !v.Seen || !v.HasDependents {
			t.Errorf("real node: %+v", v)
		}
	})
	t.Run("absent", func(t *testing.T) {
		expect(t, "another dependent", g.Seen(object("d3", ownedBy("unknown"))), "unknown")
		expect(t, "its absence", g.Absent(object("unknown").Coordinates), "d3")
		v, _ := g.View("d3")
		if v.States[0] != OwnerAbsent {
			t.Errorf("state: %v", v.States)
		}
	})
}

func TestGraphForegroundDeletion(t *testing.T) {
	g := New()
	g.Seen(object("owner"))
	g.Seen(object("b1", ownedBy("owner"), blocking))
	g.Seen(object("b2", ownedBy("owner"), blocking))
	g.Seen(object("free", ownedBy("owner")))
	expect(t, "its beginning", g.Seen(object("owner", version("2"), foreground)), "b1", "b2", "free", "owner")
	if v, _ := g.View("owner"); !v.Blocked {
		t.Error("not blocked")
	}
	if v, _ := g.View("b1"); v.States[0] != OwnerWaits {
		t.Errorf("a waiting owner's state: %v", v.States)
	}
	expect(t, "a late dependent", g.Seen(object("late", ownedBy("owner"), blocking)), "late")
	expect(t, "the end of one", g.Gone("b1"))
	expect(t, "one that blocks no more", g.Seen(object("late", version("2"), ownedBy("owner"))))
	expect(t, "the end of the last that blocks", g.Gone("b2"), "owner")
	if v, _ := g.View("owner"); v.Blocked || Decide(v).Verb != Release {
		t.Errorf("owner: %+v", v)
	}
}

func TestGraphOrphaning(t *testing.T) {
	g := New()
	g.Seen(object("owner"))
	g.Seen(object("d", ownedBy("owner")))
	expect(t, "its beginning", g.Seen(object("owner", version("2"), orphaning)), "owner")
	if diff := cmp.Diff([]Coordinates{object("d").Coordinates}, g.Dependents("owner")); diff != "" {
		t.Error(diff)
	}
	expect(t, "a late dependent", g.Seen(object("late", ownedBy("owner"))), "owner")
}

func TestGraphReportsOwnersInOtherNamespaces(t *testing.T) {
	g := New()
	g.Seen(object("owner", inNamespace("b")))
	changes := g.Seen(object("d", ownedBy("owner")))
	expect(t, "a reference across namespaces", changes, "d")
	if len(changes.Invalid) != 1 || changes.Invalid[0].Dependent.Name != "d" {
		t.Fatalf("invalid: %+v", changes.Invalid)
	}
	want := "[v1/ConfigMap, namespace: a, name: owner, uid: owner]"
	if got := changes.Invalid[0].Owner.String(); got != want {
		t.Errorf("the owner is called %s, want %s", got, want)
	}
	t.Run("whichever is seen first", func(t *testing.T) {
		g := New()
		expect(t, "the reference", g.Seen(object("d", ownedBy("owner"))), "owner")
		changes := g.Seen(object("owner", inNamespace("b")))
		expect(t, "the owner", changes, "d")
		if len(changes.Invalid) != 1 {
			t.Errorf("invalid: %+v", changes.Invalid)
		}
	})
}

func TestGraphBelievesEachReferrerForItself(t *testing.T) {
	g := New()
	g.Seen(object("liar", inNamespace("b"), ownedBy("owner")))
	g.Seen(object("honest", ownedBy("owner")))
	// The virtual node has the first dependent's coordinates; its absence there does not
	// affect a.
	first, _ := g.View("owner")
	expect(t, "absence in the one namespace", g.Absent(first.Coordinates), "liar", "owner")
	second, _ := g.View("owner")
	if second.Coordinates == first.Coordinates {
		t.Fatalf("the other's coordinates are not looked up: %v", second.Coordinates)
	}
	expect(t, "seen in the other", g.Seen(object("owner")), "liar")
	if v, _ := g.View("honest"); v.States[0] == OwnerAbsent {
		t.Error("the honest one's owner is said to be absent")
	}
}

func TestGraphForgetsUnwatchedKinds(t *testing.T) {
	g := New()
	g.Seen(object("owner"))
	g.Seen(object("d", ownedBy("owner")))
	g.Unwatched("owner")
	if v, _ := g.View("owner"); v.Seen {
		t.Error("still said to be seen")
	}
	if v, _ := g.View("d"); v.States[0] != OwnerUnknown {
		t.Errorf("state of an owner of an unwatched kind: %v", v.States)
	}
	g.Unwatched("d")
	if g.Len() != 0 {
		t.Errorf("%d nodes are left", g.Len())
	}
}

func TestGraphFindsCirclesOfWaitingOwners(t *testing.T) {
	g := New()
	g.Seen(object("a", ownedBy("c"), blocking, foreground))
	g.Seen(object("b", ownedBy("a"), blocking, foreground))
	g.Seen(object("c", ownedBy("b"), blocking))
	if v, _ := g.View("a"); v.InCircle {
		t.Error("c does not wait yet, so there is no circle")
	}
	g.Seen(object("c", version("2"), ownedBy("b"), blocking, foreground))
	g.Seen(object("leaf", ownedBy("c"), blocking, foreground))
	for uid, want := range map[types.UID]bool{"a": true, "b": true, "c": true, "leaf": false} {
		if v, _ := g.View(uid); v.InCircle != want {
			t.Errorf("%s in a circle: %v", uid, v.InCircle)
		}
	}
}
