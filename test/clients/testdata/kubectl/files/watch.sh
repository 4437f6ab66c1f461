# Prints what kubectl get --watch tells of an object's life.
kubectl get cm --watch --output-watch-events > watch.out 2>&1 &
told() { while ! grep -q "$1" watch.out; do sleep 0.1; done; }
told kube-root-ca.crt
kubectl create cm later
kubectl label cm later a=b
kubectl delete cm later
told DELETED
kill $!
cat watch.out
