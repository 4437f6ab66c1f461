// Package resourceclaim is the resourceclaim-controller: it creates the claims that pods want from
// templates (KEP-4381), reserves allocated claims for pods that were created with a node, and frees
// the claims of pods that have ended or are gone. It guarantees that a claim is generated once for
// each claim of a pod, also while its caches do not show it yet, and that a reservation goes only
// when the API confirms that its pod is gone or a cache shows that it has ended.
package resourceclaim
