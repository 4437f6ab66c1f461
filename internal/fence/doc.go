// Package fence makes the writes of a role fail once another process has taken the role over. A
// request names the Lease of the role and the resourceVersion at which its process acquired it;
// the API server executes the write only if the Lease is unchanged.
package fence
