// Package sharing makes this process a member of the processes that share one etcd. A Member
// renews its Lease, watches the Leases of the others and of the roles, and starts and stops
// roles in this process as package members decides. Only one process at a time runs a role, and
// the token of the role (package fence) makes late writes of a former one fail.
package sharing
