// Package fence makes the writes of a role fail once another process has taken the role over. A
// request names the Lease of the role and the resourceVersion at which its process acquired it;
// the API server executes the write only if the Lease is unchanged.
//
// Process A is paused (SIGSTOP, or a slow machine) after it has decided to write, and B takes over:
//
//	seconds  A, with the token @100           the role's Lease          B
//	0        renews its own Lease             A, revision 100           sees the renewal
//	         decides to delete a pod
//	0.1      paused
//	5                                                                   A's own Lease has not changed for 5 s
//	                                          B, revision 130           takes the role: an update at revision 100
//	                                                                    starts the controllers, token @130
//	8        goes on: DELETE, fence @100
//	         the store compares in the
//	         write's transaction: 130, not
//	         100: nothing is written, 503
//	         sees that its own Lease is old:
//	         stops the role
//
// If A compared the revision itself before it sent the request, it could be paused between the two.
package fence
