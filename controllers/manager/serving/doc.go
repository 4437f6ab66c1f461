// Package serving is the HTTPS face of a manager that runs as a process of its own:
// health, metrics, configuration, flags, profiles, and what its controllers are doing.
// Who asks is found out by a client certificate or by asking the apiserver about a
// token (TokenReview), and what they may see by asking it too (SubjectAccessReview);
// health is for everybody. Nothing of it is used by "minikcm up".
package serving
