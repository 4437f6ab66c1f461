// Package ha runs several minikcm processes on an etcd cluster of three members, all of them
// processes of this machine, and kills, pauses and cuts off one after the other, from a seed,
// while clients work. After each fault the histories of the clients must be linearizable,
// Deployments must converge, and no address may be given twice and no container started twice.
package ha
