declare module "*.css";
declare module "*.yaml" {
  const text: string;
  export default text;
}
