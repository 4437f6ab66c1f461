// Package podcertificaterequestcleaner is the podcertificaterequest-cleaner-controller: it
// deletes PodCertificateRequests 15 minutes after their creation, whatever became of them.
// Upstream's looks every 5 minutes and therefore deletes them up to 5 minutes later.
package podcertificaterequestcleaner
