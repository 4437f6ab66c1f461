package members

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// Namespace has the Leases of members and of roles.
	Namespace = metav1.NamespaceSystem
	// IdentityLabel with the value IdentityValue selects the Leases of members (KEP-1965).
	IdentityLabel = "apiserver.kubernetes.io/identity"
	IdentityValue = "kube-apiserver"
	// RoleLabel selects the Leases of roles. Its value is "true".
	RoleLabel = "minikcm.dev/role"
	// AddressAnnotation of a member is the address and port that other machines reach its API
	// server at. A member without HTTPS has none.
	AddressAnnotation = "minikcm.dev/advertise-address"
	// RolesAnnotation of a member lists the roles that it can run, separated by commas.
	RolesAnnotation = "minikcm.dev/roles"
)

const (
	// LeaseDuration is how long a member counts as live after the last observed renewal. It is
	// measured by the observer's monotonic clock, so clocks of machines need not agree.
	LeaseDuration = 5 * time.Second
	// RenewInterval is the time between two renewals.
	RenewInterval = time.Second
	// RenewDeadline is how long a member that cannot renew its Lease goes on with its roles,
	// counted from the start of its last successful renewal. The rest of LeaseDuration is the
	// time that it has to end them.
	RenewDeadline = 3500 * time.Millisecond
	// Forgotten is how long an expired Lease of a member stays before others delete it.
	Forgotten = time.Minute
)

// The times of a member that can run no role, such as an API server for a suite with envtest. Nothing
// has to be taken over from it, so its Lease has upstream's times (KEP-1965).
const (
	IdleLeaseDuration = time.Hour
	IdleRenewInterval = 10 * time.Second
	// IdleSilence is how long it counts as live after the last observed renewal, and so stays in the
	// endpoints of the Service kubernetes: as long as upstream's API servers do.
	IdleSilence = 15 * time.Second
)

// Selector is the label selector of the Leases of members.
const Selector = IdentityLabel + "=" + IdentityValue

// Name returns the name of a member's Lease: apiserver- and a hash of the identity.
func Name(identity string) string {
	sum := sha256.Sum256([]byte(identity))
	return "apiserver-" + strings.ToLower(hex.EncodeToString(sum[:16]))
}

// Address returns the advertised address and port of a member; empty without HTTPS.
func Address(lease *coordinationv1.Lease) string { return lease.Annotations[AddressAnnotation] }

// Roles returns the roles that a member can run.
func Roles(lease *coordinationv1.Lease) []string {
	return slices.DeleteFunc(strings.Split(lease.Annotations[RolesAnnotation], ","), func(role string) bool { return role == "" })
}

// Revision returns the resourceVersion of a Lease; 0 if it has none.
func Revision(lease *coordinationv1.Lease) int64 {
	revision, err := strconv.ParseInt(lease.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return revision
}

// Version returns the resourceVersion of a revision.
func Version(revision int64) string { return strconv.FormatInt(revision, 10) }

// Shards is the number of parts into which the nodes are divided. All processes on one etcd must
// agree on it.
const Shards = 32

// The roles that one member at a time runs. RoleNodes stands for the shards of the nodes.
const (
	RoleControllers = "controllers"
	RoleScheduler   = "scheduler"
	RoleAddresses   = "addresses"
	RoleNodes       = "nodes"
)

const rolePrefix = "minikcm-"

// RoleLease returns the name of the Lease of a role.
func RoleLease(role string) string { return rolePrefix + role }

// AllRoles returns the roles: the single ones and the shards' roles.
func AllRoles() []string {
	roles := []string{RoleControllers, RoleScheduler, RoleAddresses}
	for shard := range Shards {
		roles = append(roles, ShardRole(shard))
	}
	return roles
}

// ShardOfRole returns the shard of a role; false if the role is not a shard's.
func ShardOfRole(role string) (int, bool) {
	number, found := strings.CutPrefix(role, RoleNodes+"-")
	shard, err := strconv.Atoi(number)
	return shard, found && err == nil && shard >= 0 && shard < Shards
}

// ShardRole returns the role of a shard of nodes.
func ShardRole(shard int) string { return fmt.Sprintf("%s-%02d", RoleNodes, shard) }
