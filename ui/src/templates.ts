// Objects to begin with.

import shop from "../../cmd/minikcm/samples/shop.yaml";

/** Template is an object, or several, in YAML. */
export const templates = {
  /** templateShop is what "minikcm sample shop" loads. */
  templateShop: shop,
  templateStatefulSet: `apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: store
spec:
  serviceName: store
  replicas: 3
  selector:
    matchLabels: {app: store}
  template:
    metadata:
      labels: {app: store}
    spec:
      containers:
      - name: store
        image: postgres:17
        resources:
          requests: {cpu: 200m, memory: 256Mi}
`,
  templateCronJob: `apiVersion: batch/v1
kind: CronJob
metadata:
  name: report
spec:
  schedule: "*/5 * * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: report
            image: busybox
            command: [sh, -c, echo done]
`,
  templateBudget: `apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: shop
spec:
  minAvailable: 2
  selector:
    matchLabels: {app: shop}
`,
  templateAutoscaler: `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: shop
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}
  minReplicas: 2
  maxReplicas: 10
  metrics:
  - type: Resource
    resource:
      name: cpu
      target: {type: Utilization, averageUtilization: 60}
`,
  templateNetworkPolicy: `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: shop
spec:
  podSelector:
    matchLabels: {app: shop}
  ingress:
  - from:
    - podSelector:
        matchLabels: {role: front}
    ports:
    - port: 80
`,
  templateQuota: `apiVersion: v1
kind: Namespace
metadata:
  name: team
---
apiVersion: v1
kind: ResourceQuota
metadata:
  name: pods
  namespace: team
spec:
  hard: {pods: "10"}
`,
};
