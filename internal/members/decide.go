package members

import (
	"hash/fnv"
	"slices"
)

// RoleState is the Lease of a role: its holder, which is the name of a member's Lease, and its
// resourceVersion. The revision is 0 without a Lease; the holder is empty after a release.
type RoleState struct {
	Holder   string
	Revision int64
}

// View is one member's knowledge at one time.
type View struct {
	// Self is the name of the own Lease.
	Self string
	// Members are the live members, with the roles that each can run; Self is among them.
	Members map[string][]string
	// Roles are the Leases of the roles.
	Roles map[string]RoleState
}

// Decision is a member's decision about a role.
type Decision int

// The decisions. Keep covers a role that another member has, or that nothing can be done about.
const (
	Keep Decision = iota
	// Take makes the member the holder, by a write that names the known resourceVersion.
	Take
	// Run starts a role that the member already holds, if it does not run.
	Run
	// Release ends the role and then clears the holder, because another member should have it.
	Release
)

// Decide returns the member's decision about a role. A single role stays with a live holder, so
// that a new member interrupts nothing. A shard moves to the member that wins the rendezvous, so
// that shards spread over all members, and only a member's own shards move when it comes or goes.
func Decide(v *View, role string) Decision {
	kind, sticky := role, true
	if _, shard := ShardOfRole(role); shard {
		kind, sticky = RoleNodes, false
	}
	held := v.Roles[role]
	holderRoles, live := v.Members[held.Holder]
	live = live && slices.Contains(holderRoles, kind)
	winner := Winner(v.Members, kind, role)
	switch {
	case held.Holder == v.Self && (sticky && live || winner == v.Self):
		return Run
	case held.Holder == v.Self:
		return Release
	case live:
		return Keep
	case winner == v.Self:
		return Take
	}
	return Keep
}

// Winner returns the member that should have a role, by rendezvous hashing over the members that
// can run its kind; empty if there is none.
func Winner(members map[string][]string, kind, role string) string {
	winner, best := "", uint64(0)
	for name, roles := range members {
		if !slices.Contains(roles, kind) {
			continue
		}
		if weight := hash(name + "/" + role); winner == "" || weight > best || weight == best && name < winner {
			winner, best = name, weight
		}
	}
	return winner
}

// ShardOf returns the shard of a node.
func ShardOf(node string) int { return int(hash(node) % Shards) }

// hash is FNV-1a with a final mix, because FNV alone barely spreads texts that differ at their
// end.
func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	x := h.Sum64()
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
