package graph

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestDecide(t *testing.T) {
	background := Action{Verb: Delete, Policy: metav1.DeletePropagationBackground}
	of := func(o Observation, states ...OwnerState) View {
		return View{Observation: o, Seen: true, States: states}
	}
	with := func(v View, f func(*View)) View { f(&v); return v }
	hasDependents := func(v *View) { v.HasDependents = true }
	two := object("x", ownedBy("p", "q"))
	one := object("x", ownedBy("p"))
	for name, tt := range map[string]struct {
		view View
		want Action
	}{
		"never seen":              {View{Observation: one}, Action{Verb: LookUp}},
		"no owners":               {of(object("x")), Action{}},
		"owner exists":            {of(one, OwnerExists), Action{}},
		"owner gone":              {of(one, OwnerAbsent), background},
		"owner not known":         {of(two, OwnerAbsent, OwnerUnknown), Action{}},
		"owner cannot be":         {of(two, OwnerAbsent, OwnerInvalid), Action{}},
		"one of two gone":         {of(two, OwnerExists, OwnerAbsent), Action{Verb: DropOwners, Owners: []types.UID{"q"}}},
		"one of two waits":        {of(two, OwnerWaits, OwnerExists), Action{Verb: DropOwners, Owners: []types.UID{"p"}}},
		"both gone":               {of(two, OwnerAbsent, OwnerAbsent), background},
		"owner waits, a leaf":     {of(one, OwnerWaits), background},
		"owner waits, not a leaf": {with(of(one, OwnerWaits), hasDependents), Action{Verb: Delete, Policy: metav1.DeletePropagationForeground}},
		"foreground, in a circle": {
			with(of(object("x", foreground)), func(v *View) { v.Blocked, v.InCircle = true, true }), Action{Verb: Unblock},
		},
		"asks to orphan": {
			of(object("x", ownedBy("p"), func(o *Observation) { o.Orphan = true }), OwnerAbsent),
			Action{Verb: Delete, Policy: metav1.DeletePropagationOrphan},
		},
		"asks for foreground": {
			of(object("x", ownedBy("p"), func(o *Observation) { o.Foreground = true }), OwnerAbsent),
			Action{Verb: Delete, Policy: metav1.DeletePropagationForeground},
		},
		"already being deleted": {of(object("x", ownedBy("p"), func(o *Observation) { o.Deleting = true }), OwnerAbsent), Action{}},
		"foreground, blocked":   {with(of(object("x", foreground)), func(v *View) { v.Blocked = true }), Action{}},
		"foreground, free":      {of(object("x", foreground)), Action{Verb: Release}},
		"orphaning":             {of(object("x", orphaning)), Action{Verb: OrphanDependents}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Decide(tt.view)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
