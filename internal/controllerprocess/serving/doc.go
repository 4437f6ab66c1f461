// Package serving is the HTTPS server of a manager that runs as a process of its own:
// health, metrics, configuration, flags, profiles, and the status of its controllers. It
// authenticates clients by certificate or by a TokenReview at the apiserver, and authorizes
// them by a SubjectAccessReview; the health paths need no authorization. "minikcm up" does
// not use this package.
package serving
