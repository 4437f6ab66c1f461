// Package traffic has the words of the traffic model: profiles say how a server answers, clients say how it is called, targets say where
// requests lead at present, and results count what became of them. The packages beneath it compute results: exact, request by request;
// flow, by the theory of queues (package queueing).
//
//minikcm:pure
package traffic
