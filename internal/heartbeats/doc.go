// Package heartbeats decides which heartbeats of simulated nodes are written on virtual time. A kubelet
// renews its Lease every ten seconds and reports its status every five minutes. While nothing observes
// them, these writes change nothing but times, so the kubelets make them before the next read: Elision
// counts the observers, and asks the kubelets to write what was due (docs/decisions/0067).
//
// A client reads the Lease of node-1, and later watches it (periods without jitter):
//
//	time      the kubelet                        the client                      the stored Lease
//	10:00:00  renews it. Nothing observes: On
//	          is set, and the timer removed                                      10:00:00
//	10:00:35                                     GET: Look, and so Settle
//	          renewals were due at :10, :20, :30:
//	          writes the last one                                                10:00:30
//	                                             gets the Lease
//	10:00:42                                     WATCH: Attend counts it; Settle
//	          writes the renewal of :40                                          10:00:40
//	                                             Resume
//	          clears On, sets the timer to :50
//	10:00:50  renews it                          gets the event                  10:00:50
//	10:00:58                                     ends the watch: count 0
//	10:01:00  renews it. Nothing observes: On                                    10:01:00
//
// The kubelet sets On before it looks at the count a second time, and Attend counts before it looks at On, so
// one of the two sees the other:
//
//	the kubelet: count is 0?  yes                the kubelet: count is 0?  yes, twice; On is set
//	Attend:      count is 1; On is not set       Attend:      count is 1
//	the kubelet: sets On; count is 0?  no:       Attend:      On is set: writes what is owed,
//	             clears On, keeps its timer                   clears On and sets the timer
package heartbeats
