// Command wire compares minikcm's API server with upstream's, request by request. It starts both,
// each on an etcd of its own and with nothing else, as in envtest; sends the requests of package
// requests to both; and compares status, headers and bodies after package exchange has replaced what
// differs between any two servers. The known differences are in known.yaml, with a reason each:
// any other difference fails the command, and so does a known one that was not met. "make wire"
// builds its prerequisites and runs it.
package main
