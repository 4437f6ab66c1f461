// Package hostile attacks a minikcm process with a memory limit as a user without privileges
// would: lists and watches that are not read, bodies and patches that grow, Deployments
// without end. Beside each attack, a well-behaved client keeps working. The process must
// survive, with bounded memory; "make hostile" also requires bounded latency.
package hostile
