// Package sharing makes this process a member of the processes that share one etcd. A Member
// renews its Lease, watches the Leases of the others and of the roles, and starts and stops
// roles in this process as package members decides. Only one process at a time runs a role, and
// the token of the role (package fence) makes late writes of a former one fail.
//
// C joins, and a shard of nodes that runs in A is C's by the hash over the members:
//
//	A                                   the role's Lease      C
//	                                                          creates its own Lease
//	sees it; lists the Leases: Release
//	Stop: the last syncs of the shard
//	end, in the background; A renews
//	its own Lease meanwhile
//	clears the holder, at revision 40   no holder, revision 57
//	                                                          sees it; lists the Leases: Take
//	                                    C, revision 58        updates it at revision 57
//	                                                          Start, with the token @58
//
// Every decision to take or release follows a list, not the watch, which may be behind. If two members take a
// role at once, the update of one is a Conflict, and that one goes on as before.
package sharing
