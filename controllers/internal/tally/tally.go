package tally

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"minikcm.dev/minikcm/internal/loop"
)

// Account holds the objects of a group. The tally calls its methods one at a time.
type Account[T metav1.Object] interface {
	// Set adds an object, or replaces its earlier state.
	Set(o T)
	// Unset removes the object with the key, which the account has.
	Unset(key types.NamespacedName)
	// Len returns the number of objects.
	Len() int
}

// Tally assigns objects to accounts. Its methods can be called concurrently.
type Tally[T metav1.Object, A Account[T]] struct {
	groupOf func(o T) string
	open    func() A

	mu       sync.Mutex
	accounts map[string]A
	// groups holds the group of every object in an account. An event's old object is not
	// enough to find it: the old object of a deletion that a watch missed can be out of date.
	groups map[types.NamespacedName]string
}

// New returns an empty tally. groupOf returns the group of an object, or "" if it is in none;
// open returns an empty account.
func New[T metav1.Object, A Account[T]](groupOf func(o T) string, open func() A) *Tally[T, A] {
	return &Tally[T, A]{groupOf: groupOf, open: open, accounts: map[string]A{}, groups: map[types.NamespacedName]string{}}
}

// Observe applies an event. A controller passes it every event of the objects, including events
// that it otherwise ignores, in the order of delivery and before it maps them to keys.
func (t *Tally[T, A]) Observe(ev loop.Event) {
	o, ok := ev.Object.(T)
	if !ok {
		return
	}
	key, group := loop.KeyOf(o), ""
	if ev.Type != loop.Deleted {
		group = t.groupOf(o)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if former, known := t.groups[key]; known && former != group {
		t.unset(former, key)
	}
	if group == "" {
		return
	}
	account, ok := t.accounts[group]
	if !ok {
		account = t.open()
		t.accounts[group] = account
	}
	account.Set(o)
	t.groups[key] = group
}

// unset removes an object from its account, and an account that is empty.
func (t *Tally[T, A]) unset(group string, key types.NamespacedName) {
	delete(t.groups, key)
	account := t.accounts[group]
	account.Unset(key)
	if account.Len() == 0 {
		delete(t.accounts, group)
	}
}

// Read calls look with a function that returns the account of a group, which is empty if no
// object is in the group. Events are not applied before look has returned, so look must not
// block. The accounts must not be used afterwards.
func (t *Tally[T, A]) Read(look func(of func(group string) A)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	look(func(group string) A {
		if account, ok := t.accounts[group]; ok {
			return account
		}
		return t.open()
	})
}
