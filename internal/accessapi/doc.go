// Package accessapi records what a user asks a running cluster for. Its Extension serves
// /minikcm/v1/access: a POST starts a recording, which lasts as long as its streamed
// response, GET and DELETE of /minikcm/v1/access/ID return what was asked for, and DELETE
// also ends it. Its Client makes these requests.
package accessapi
