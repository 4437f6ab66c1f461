# Asks the cluster through kubectl proxy.
kubectl proxy --port=0 > proxy.out 2>&1 &
while ! grep -q Starting proxy.out; do sleep 0.1; done
address=$(grep -o '127.*' proxy.out)
curl -s "http://$address/api/v1/namespaces/default" | grep phase
curl -s "http://$address/" | head -4
kill $!
