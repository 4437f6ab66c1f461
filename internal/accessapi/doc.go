// Package accessapi records a user's requests to a running cluster. Its Extension serves
// /minikcm/v1/access: a POST starts a recording, which lasts as long as its streamed response,
// GET and DELETE of /minikcm/v1/access/ID return the recorded requests, and DELETE also ends
// it. Its Client makes these requests.
package accessapi
